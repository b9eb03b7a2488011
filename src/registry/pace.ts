/**
 * When the next group of writes is worth building while others are on their way to the disk: each
 * group costs a flush, whatever is in it, and where building takes longer than the disk, larger
 * groups are worth more than early ones (decision 17).
 */

/** A smaller group is not built ahead. */
const SMALLEST_AHEAD = 8;

export class Pace {
  /** Writes that were outstanding at once, lately. */
  #usual = 0;
  /** What the last group took to build, and to publish. */
  #buildMs = 0;
  #publishMs = 0;

  /** Writes that wait, and those on their way, when a group is begun. */
  outstanding(writes: number): void {
    this.#usual = Math.max(writes, this.#usual * 0.9);
  }

  built(ms: number): void {
    this.#buildMs = ms;
  }

  published(ms: number): void {
    this.#publishMs = ms;
  }

  /** So many writes have to wait before a group is built ahead. */
  get enough(): number {
    return Math.max(SMALLEST_AHEAD, this.#usual / 2);
  }

  /** So long it is too early, in milliseconds; 0 or less: it is time. */
  tooEarlyBy(since: number): number {
    return this.#buildMs - Math.max(this.#publishMs, performance.now() - since);
  }
}
