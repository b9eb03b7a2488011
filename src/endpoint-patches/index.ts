/** Public names of `endpoint-patches/`: other folders import this file alone. */
export { PatchEngine } from './engine.ts';
export { labelsToHost, labelsToTenant } from './labels.ts';
export { longHash, shortHash } from './names.ts';
export { matchPath, TooManyMatchesError } from './paths/match.ts';
export type { Place } from './paths/path.ts';
export { compilePatches, type PatchProgram } from './program.ts';
export type { KnownObject } from './references.ts';
export {
  type Direction,
  describeFailure,
  type PatchFailure,
  type PatchMatch,
  type PatchOutcome,
  type PatchReport,
  type PatchRun,
  type SkipReason,
} from './report.ts';
export { deadReverseExpressions } from './reverse-paths.ts';
export { type RoundTripDifference, roundTrip } from './round-trip.ts';
export type { ApplyRequest } from './run.ts';
export { readEndpointsSetting, readServicesSetting, type SyncedKindName } from './settings.ts';
export {
  type PatchedTenant,
  type SyncedTenant,
  type TenantCluster,
  tenantClusterOf,
} from './tenant.ts';
export { hasPlace, translateName } from './translate.ts';
export { checkEndpointsSetting } from './validate.ts';
export { checkNamespacesSetting } from './validate-namespaces.ts';
