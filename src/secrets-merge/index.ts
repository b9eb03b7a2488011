/** Public names of `secrets-merge/`. */
export { canonicalTime } from './canonical-time.ts';
export type { Marker, Resolution } from './decide.ts';
export { decodeFromStore, encodeForStore } from './encoding.ts';
export { Fingerprints, type SecretValues, sameFingerprints } from './fingerprints.ts';
export { isMassDeletion, type KeyHistory } from './guards.ts';
export { DEFAULT_POLICY, mayPull, mayPush, type Preference, type SyncPolicy } from './policy.ts';
export {
  type GitChange,
  type GitRead,
  type GitSide,
  type LiveRead,
  type StoreChange,
  StoreError,
  type StoreRead,
  type StoreSide,
  type SyncMemory,
  type WriteOutcome,
} from './ports.ts';
export { syncObject } from './sync-object.ts';
export { NEW_STATE, type StoreVersion, type SyncBase, type SyncState } from './sync-state.ts';
export type { SyncOutcome } from './sync-task.ts';
