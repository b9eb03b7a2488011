/** Public names of `costs/`. */
export { readUsage } from './read-usage.ts';
export { costsOf, type TenantCost, type TenantUsage } from './sums.ts';
