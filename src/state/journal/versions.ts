/**
 * Rules for the resourceVersions that a store may assign and read on from, decided when it opens.
 *
 * A version that a client has seen must never come back with another meaning: a watch that resumes
 * from it would miss events silently. Versions can be lost in two ways.
 * 1. The state directory is deleted. Then versions start from the wall clock in microseconds. This
 *   is above every earlier version, since those started from the clock too and grow by one per
 *   change, far slower than one per microsecond.
 * 2. The process dies. Then clients saw its last changes, which never became durable. The clock is
 *   above those as well. If the clock was set back, `LOST_TAIL` is still above the persisted
 *   version plus everything that can have waited for the disk.
 *
 * After a clean close nothing is lost: a client that has seen the last version reads on from there.
 * The versions between it and the new start belong to no existing state (only to a later one that
 * was lost, for example when a backup was restored). Reading on from this gap is refused, as from
 * everything before it, since the journal lives in memory.
 *
 * Replicas that follow a store show clients only what is durable, so they read on from the last
 * durable version, after a clean close or not. The next store starts above every version that its
 * predecessor can have named in the answer to a write without making it durable, and above the
 * clock: if an older state was restored, later stores assigned versions that it does not know.
 */
import type { Clock } from '../../apimachinery/index.ts';
import { CompactedError } from '../store.ts';

/** Persisted versions, written in the same batch as the objects. */
export interface PersistedVersions {
  /**
   * In a clean state, the newest assigned version. Otherwise the version before the next one: from
   * opening until the first change it is above the newest version.
   */
  readonly last: number;
  /** In a clean state, the next version: an earlier crash may have left a gap before it. */
  readonly next?: number | undefined;
  /** True if the store was closed with everything durable. Removed when it opens again. */
  readonly clean: boolean;
  /** The newest assigned version, where clients see only what is durable. */
  readonly head?: number | undefined;
}

/** More than the changes that can be queued for the disk, but only a second of the clock. */
const LOST_TAIL = 2 ** 20;

export interface FirstVersions {
  /** Version of the contents at the start; events are readable from here on. */
  readonly head: number;
  /** Version of the first change. Reading on from a version between `head` and this is refused. */
  readonly next: number;
}

/** Versions between two numbers, both excluded, that belong to no existing state. */
export interface Gap {
  readonly head: number;
  readonly next: number;
}

export function firstVersions(
  persisted: PersistedVersions | undefined,
  clock: Clock,
): FirstVersions {
  const microseconds = Math.floor(clock.now() * 1000);
  if (persisted?.head !== undefined && !persisted.clean) {
    return { head: persisted.head, next: Math.max(persisted.last + LOST_TAIL, microseconds) };
  }
  if (persisted?.clean === true) {
    const { last, next = last + 1 } = persisted;
    return { head: last, next: Math.max(next, microseconds) };
  }
  // At least 1: 0 means "any version" to clients.
  const unserved = persisted === undefined ? 1 : persisted.last + LOST_TAIL;
  const head = Math.max(unserved, microseconds);
  return { head, next: head + 1 };
}

/**
 * Throws CompactedError unless a reader can continue from `version`; `floor` is that of its
 * collection.
 */
export function checkReadable(version: number, floor: number, gaps: readonly Gap[]): void {
  if (version < floor) throw new CompactedError(version, floor);
  for (const { head, next } of gaps) {
    if (version > head && version < next) throw new CompactedError(version, next);
  }
}
