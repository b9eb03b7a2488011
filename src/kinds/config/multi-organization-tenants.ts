/** Tenants of providerD (spec 2.8.6) that accept accounts of more than one organization. */

/** The tenant of all personal accounts; `consumers` is another name of it. */
export const PERSONAL_TENANT = '9188040d-6c67-4c5b-b112-36a304b66dad';

const SHARED = new Set(['', 'common', 'consumers', 'organizations', PERSONAL_TENANT]);

/** True if the tenant accepts accounts of several organizations, or of none. Their groups cannot be read. */
export function isSharedTenant(tenant: string): boolean {
  return SHARED.has(tenant.toLowerCase());
}
