/** Public names of `tenant-sync/`. */
export { removeSynced } from './cleanup.ts';
export { type Effects, effectsOf, type Observed } from './effects.ts';
export { type ObjectState, type SyncSummary, summaryAsJson, worstOf } from './object-states.ts';
export { type Previewed, type PreviewRequest, previewPatches } from './preview.ts';
export type { PatchRunner } from './reconcile-object.ts';
export { RoleBindings, removeRoleBindings } from './role-bindings.ts';
export { SYNCED_KINDS, syncedKindOf } from './synced-kinds.ts';
export { TenantSync } from './tenant-sync.ts';
export { isWanted } from './translate.ts';
