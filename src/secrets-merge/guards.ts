/** What stops a cycle before it believes something: old answers, other mounts, mass deletions. */
import { isOlder, newestKnown, type StoreVersion, type SyncState } from './sync-state.ts';

/** What the store says of a key beside its values. */
export interface KeyHistory {
  readonly createdTime: string;
  readonly currentVersion: number;
  /** Kept versions by number. */
  readonly versions: ReadonlyMap<number, string>;
  /** Those without a time of deletion, past or to come, and not destroyed. */
  readonly undeleted: ReadonlySet<number>;
  /** How many versions stay readable. */
  readonly maxVersions: number;
}

/** A read that looks older than the base this often in a row is looked into. */
export const STALE_READS_BEFORE_LOOKING = 3;
/** A key counts as removed when it was not found this often in a row. */
export const MISSING_READS_BEFORE_ACTING = 2;

/** Whether an answer comes from before what is known: a node that lags behind. */
export function looksStale(state: SyncState, read: StoreVersion): boolean {
  const known = newestKnown(state);
  return known !== undefined && isOlder(read, known);
}

/**
 * Whether a read that looks old is new all the same. It is when the key was made anew after what is
 * known, or when it is a later version in the same life of the key, written by a clock that had
 * stepped back. The history must know the very version that was read: it may come from another node.
 */
export function isNewAllTheSame(state: SyncState, read: StoreVersion, key: KeyHistory): boolean {
  const known = newestKnown(state);
  if (known === undefined || key.versions.get(read.version) !== read.createdTime) return false;
  const { keyCreatedTime: made } = known;
  if (made === undefined) return key.createdTime > known.createdTime;
  return key.createdTime > made || (key.createdTime === made && read.version > known.version);
}

/**
 * True if a read proves that the store was put back to an older copy and written since: the history of
 * the same life of the key has another version under the number that is known, or has not reached it.
 */
export function isFork(state: SyncState, read: StoreVersion, key: KeyHistory): boolean {
  const known = newestKnown(state);
  if (known === undefined || key.versions.get(read.version) !== read.createdTime) return false;
  const { keyCreatedTime: made } = known;
  const isSameLife =
    made === undefined ? key.createdTime <= known.createdTime : key.createdTime === made;
  if (!isSameLife) return false;
  const there = key.versions.get(known.version);
  return there === undefined ? read.version < known.version : there !== known.createdTime;
}

const MOST_DELETIONS = 3;
const LARGEST_SHARE = 0.1;

/**
 * Whether one cycle wants to delete so much on one side that somebody has to agree first.
 * `tracked`: how many objects are synced.
 */
export function isMassDeletion(deletions: number, tracked: number): boolean {
  return deletions > Math.max(MOST_DELETIONS, Math.floor(tracked * LARGEST_SHARE));
}
