/** Backoff of repeated repairs, for the case that another program keeps undoing them. */
import { type Backoff, backoffBound } from '../concurrency/index.ts';

const BACKOFF: Backoff = { firstMs: 1000, lastMs: 60_000 };
const CALM_MS = 60_000;
const FREE = 3;

interface Repair {
  readonly basis: string;
  readonly count: number;
  readonly at: number;
}

export class Repairs {
  readonly #last = new Map<string, Repair>();

  /** Milliseconds until the key may be repaired again on the same basis. */
  wait(key: string, basis: string): number {
    const last = this.#last.get(key);
    if (last === undefined || last.basis !== basis || last.count <= FREE) return 0;
    return Math.max(0, last.at + backoffBound(last.count - FREE, BACKOFF) - performance.now());
  }

  count(key: string, basis: string): void {
    const last = this.#last.get(key);
    const now = performance.now();
    const goesOn = last !== undefined && last.basis === basis && now - last.at < CALM_MS;
    this.#last.set(key, { basis, count: goesOn ? last.count + 1 : 0, at: now });
  }

  forget(key: string): void {
    this.#last.delete(key);
  }
}
