/**
 * Rate limits for any number of keys in a fixed amount of memory: a count-min sketch of GCRA times.
 *
 * Each key has one slot per row. A slot holds the time at which everything counted in it is paid back;
 * the least advanced slot counts for a key. Keys that share slots can only delay each other, so that no
 * use is ever lost. The hash has a random secret: a client cannot choose names that share a slot.
 */
import { createHmac, randomBytes } from 'node:crypto';
import type { TokenBucketRate } from './token-bucket.ts';

const ROWS = 4;
const SLOTS_PER_ROW = 2 ** 16;

export class CountingSlots {
  readonly #secret = randomBytes(32);
  readonly #slotsPerRow: number;
  /** Unix time in ms. Unwritten pages take no memory. */
  readonly #paidBackAt: Float64Array;
  readonly #interval: number;
  readonly #capacity: number;

  constructor({ burst, perSecond }: TokenBucketRate, slotsPerRow = SLOTS_PER_ROW) {
    this.#slotsPerRow = slotsPerRow;
    this.#paidBackAt = new Float64Array(ROWS * slotsPerRow);
    this.#interval = 1000 / perSecond;
    this.#capacity = burst * this.#interval;
  }

  /** Seconds until a key may be used again; 0: now. `pending`: uses that are not counted yet. */
  wait(key: string, now: number, pending = 0): number {
    return this.#waitAt(this.#slotsOf(key), now, pending);
  }

  /** Counts one use. Returns 0, or the seconds to wait; a use that must wait is not counted. */
  take(key: string, now: number): number {
    const slots = this.#slotsOf(key);
    const wait = this.#waitAt(slots, now, 0);
    if (wait > 0) return wait;
    const next = this.#debtUntil(slots, now) + this.#interval;
    for (const slot of slots) {
      this.#paidBackAt[slot] = Math.max(this.#at(slot, now), next);
    }
    return 0;
  }

  #waitAt(slots: readonly number[], now: number, pending: number): number {
    const next = this.#debtUntil(slots, now) + (pending + 1) * this.#interval;
    return Math.max(0, next - now - this.#capacity) / 1000;
  }

  #debtUntil(slots: readonly number[], now: number): number {
    return Math.min(...slots.map((slot) => this.#at(slot, now)));
  }

  /** Capped at a full bucket, in case the clock was set back. */
  #at(slot: number, now: number): number {
    const at = this.#paidBackAt[slot] ?? 0;
    return Math.min(Math.max(at, now), now + this.#capacity);
  }

  #slotsOf(key: string): readonly number[] {
    const digest = createHmac('sha256', this.#secret).update(key).digest();
    return Array.from(
      { length: ROWS },
      (_, row) => row * this.#slotsPerRow + (digest.readUInt32LE(4 * row) % this.#slotsPerRow),
    );
  }
}
