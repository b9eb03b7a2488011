// biome-ignore-all lint/performance/noBarrelFile: other packages need one door, and this code does
// not import it
/**
 * The patch engine for other programs: `import … from 'gitplane/endpoint-patches'`. Names that are
 * not exported here may change at any time.
 */
export type { FieldError, JsonObject, JsonValue } from '../apimachinery/index.ts';
export { type EngineOptions, PatchEngine } from './engine.ts';
export { compilePatches, type PatchProgram } from './program.ts';
export type { KnownObject } from './references.ts';
export {
  type Direction,
  describeFailure,
  type FailureReason,
  type PatchFailure,
  type PatchMatch,
  type PatchOutcome,
  type PatchReport,
  type PatchRun,
  type SkipReason,
} from './report.ts';
export { type RoundTripDifference, roundTrip } from './round-trip.ts';
export type { ApplyRequest } from './run.ts';
export { DEFAULT_LIMITS, type Limits } from './sandbox/limits.ts';
export {
  type EndpointsSetting,
  type Patch,
  type ReferenceRule,
  readEndpointsSetting,
  readServicesSetting,
} from './settings.ts';
export type { PatchedTenant, TenantCluster } from './tenant.ts';
export { checkEndpointsSetting } from './validate.ts';
