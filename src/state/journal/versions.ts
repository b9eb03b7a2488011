/**
 * Which resourceVersions a store may give out and read on from, decided once, when it opens.
 *
 * A number that a client has seen must never come back with another meaning: a watch that resumes
 * from it would miss what happened, silently. Numbers can get lost in two ways. The state directory
 * is deleted: then nothing is known, and the numbers start from the wall clock in microseconds,
 * which is above every number served before, since numbers too started from the clock and grow by
 * one a change, far slower than one a microsecond. Or the process dies: then the changes of its last
 * moments were seen by clients and never became durable. The clock is above those as well, and
 * should it have been set back meanwhile, `LOST_TAIL` is still above the persisted number plus all
 * that can have been waiting for the disk.
 *
 * After a clean close nothing was lost: who has seen the last version has seen everything, and reads
 * on from there. The numbers between it and the new start were given out by no store that ended as
 * this state did (only by one whose later state was lost, when a backup was put back, for one), so
 * reading on from within that gap is refused, as is everything before: the journal lives in memory.
 *
 * Where clients are shown only what is durable (replicas that follow a store), they all go on from the
 * last durable version, clean close or not. What the next store gives out begins above all that its
 * predecessor can have named in the answer to a write without making it durable, and above the clock:
 * where the state was put back to an earlier time, later stores gave out numbers that it does not know.
 */
import type { Clock } from '../../apimachinery/index.ts';
import { CompactedError } from '../store.ts';

/** What is kept of the numbers, in the same batch as the objects. */
export interface PersistedVersions {
  /**
   * Of a clean state, the newest version given out. Otherwise the number before the next one: it is
   * above the newest version from the opening until the first change.
   */
  readonly last: number;
  /** Of a clean state, the version that was to come next: a former crash may have left a gap before it. */
  readonly next?: number | undefined;
  /** Whether the store was closed with everything durable. Taken back as soon as it opens again. */
  readonly clean: boolean;
  /** The newest version given out, where clients are shown only what is durable. */
  readonly head?: number | undefined;
}

/** More changes than can be queued for the disk, yet only a second of the clock. */
const LOST_TAIL = 2 ** 20;

export interface FirstVersions {
  /** The version of what is there at the start; events are readable from it on. */
  readonly head: number;
  /** What the first change gets. Nobody may read on from between `head` and this. */
  readonly next: number;
}

/** Versions between two numbers, without either: given out by nobody whose state is still there. */
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
  // At least 1, for 0 means "any version" to clients.
  const unserved = persisted === undefined ? 1 : persisted.last + LOST_TAIL;
  const head = Math.max(unserved, microseconds);
  return { head, next: head + 1 };
}

/** Throws CompactedError unless a reader can go on from `version`; `floor` is its collection's. */
export function checkReadable(version: number, floor: number, gaps: readonly Gap[]): void {
  if (version < floor) throw new CompactedError(version, floor);
  for (const { head, next } of gaps) {
    if (version > head && version < next) throw new CompactedError(version, next);
  }
}
