/** Door of `registry/`: other folders import this file alone. */
export { recordActivity } from './activity.ts';
export { Branch } from './branch.ts';
export type { BranchObserver, BranchOptions } from './branch-options.ts';
export { ClusterRegistry, withoutGeneration } from './cluster-registry.ts';
export {
  type ArrivedPush,
  PendingWrites,
  type Shadow,
} from './pending-writes.ts';
export { isAccessRole, roleChanges, sourceOfRole } from './projection/derived-roles.ts';
export type { DerivedSecretChange } from './projection/derived-secrets.ts';
export { encryptedFields } from './projection/encrypted-fields.ts';
export {
  type ListSink,
  shownBytes,
  shownObject,
  writeShown,
} from './projection/object-with-managed-fields.ts';
export { ReadableStore } from './projection/readable-store.ts';
export { ReadableView } from './projection/readable-view.ts';
export {
  conditionsOf,
  DEGRADED,
  isFinished,
  OWNER_UID,
  serveObject,
} from './projection/served-object.ts';
export { type ConditionProblem, reportProblems } from './projection/status-conditions.ts';
export type { OpenPush } from './pushes/open-push.ts';
export type { Approval } from './pushes/prune-approvals.ts';
export { exceeds, type Hold, type PruneBudget, unsignedHold } from './pushes/prune-budget.ts';
export { type DryRunReport, type ExaminedPush, PushJudge } from './pushes/push.ts';
export type { PushedRange } from './pushes/push-dry-run.ts';
export { WITHDRAWN } from './pushes/push-relation.ts';
export type { PushAdmission, PushSource } from './pushes/push-source.ts';
export type { Verdict } from './pushes/verdict.ts';
export { readOnlyRegistry } from './read-only-registry.ts';
export { type Issuer, type ObjectRegistry, Registry } from './registry.ts';
export {
  describeSuspension,
  isSuspendable,
  MOST_SUSPENSIONS,
  SUSPENDABLE,
  type Suspension,
  type SuspensionChange,
  Suspensions,
  type SuspensionTarget,
  suspensionId,
} from './suspensions.ts';
export { type CommitVerdict, SyncReport } from './sync-report.ts';
export { isAnew } from './writes/change-verbs.ts';
export { COMMITTER } from './writes/commit-message.ts';
export { copiesProblemWith, dataSize, newSource } from './writes/copied-data.ts';
export { decodeObject, stripServerFields } from './writes/decode.ts';
export type { PropagationPolicy } from './writes/delete.ts';
export { FOREGROUND, ORPHAN } from './writes/finalizers.ts';
export { type Committed, openIdempotentRegistry } from './writes/idempotent-registry.ts';
export { PlannedEncryption } from './writes/planned-encryption.ts';
export { type OpenFile, Sealer } from './writes/sealer.ts';
export { GITPLANE, ownChange, ownCreate, ownOptions } from './writes/system-writes.ts';
export type {
  Advice,
  Guard,
  PlannedChange,
  Preview,
  Target,
  WriteEffect,
  WriteOptions,
  WriteParts,
  WriteResult,
} from './writes/write-context.ts';
