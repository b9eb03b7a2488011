/** Checks before a cycle acts: stale reads, replaced mounts, mass deletions. */
import { isOlder, newestKnown, type StoreVersion, type SyncState } from './sync-state.ts';

/** Metadata of a key in the store. */
export interface KeyHistory {
  readonly createdTime: string;
  readonly currentVersion: number;
  /** Creation times of kept versions, by number. */
  readonly versions: ReadonlyMap<number, string>;
  /** Versions that are not destroyed, and without a past or future time of deletion. */
  readonly undeleted: ReadonlySet<number>;
  /** Number of versions that stay readable. */
  readonly maxVersions: number;
}

/** True if a read is older than the known version: the node may lag behind. */
export function looksStale(state: SyncState, read: StoreVersion): boolean {
  const known = newestKnown(state);
  return known !== undefined && isOlder(read, known);
}

/**
 * True if a read that looks stale is new: the key was created again after the known version, or it
 * is a later version of the same key whose clock stepped back. The history must contain exactly the
 * version that was read, since it may come from another node.
 */
export function isStillNewer(state: SyncState, read: StoreVersion, key: KeyHistory): boolean {
  const known = newestKnown(state);
  if (known === undefined || key.versions.get(read.version) !== read.createdTime) return false;
  const { keyCreatedTime: made } = known;
  if (made === undefined) return key.createdTime > known.createdTime;
  return key.createdTime > made || (key.createdTime === made && read.version > known.version);
}

const MAX_DELETIONS = 3;
const MAX_SHARE = 0.1;

/**
 * True if one cycle would delete so many objects on one side that a user must approve it.
 * `tracked`: number of synced objects.
 */
export function isMassDeletion(deletions: number, tracked: number): boolean {
  return deletions > Math.max(MAX_DELETIONS, Math.floor(tracked * MAX_SHARE));
}
