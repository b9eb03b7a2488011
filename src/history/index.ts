/** Door of `history/`: other folders import this file alone. */
export type { BranchCommit } from './commits.ts';
export type { HistoryEntry } from './entries.ts';
export type { FieldChange } from './field-changes.ts';
export { History, type PastPoint } from './history.ts';
export { PastObject } from './past-object.ts';
export {
  type ComputeEffects,
  type Plan,
  type PlanChange,
  type PlanEffect,
  type PlanEffects,
  type PlanVerb,
  planOf,
  withEffects,
} from './plan.ts';
export { describeAccess } from './plan-access.ts';
export { Planner, type PlanTarget } from './planner.ts';
export { checkRevision, checkTime, type Past } from './revision.ts';
