/** The last pushes that were refused, for those who ask later what became of a commit. */
import { LRUCache } from 'lru-cache';
import type { Verdict } from './verdict.ts';

const MOST = 128;

export class PushVerdicts {
  readonly #refused = new LRUCache<string, Verdict>({ max: MOST });
  #count = 0;

  /** Verdicts so far. */
  get count(): number {
    return this.#count;
  }

  /** Why a push of this commit was refused, unless one was accepted since. */
  refusalOf(revision: string): Verdict | undefined {
    return this.#refused.get(revision);
  }

  note(revision: string, verdict: Verdict): void {
    this.#count++;
    if (verdict.ok) this.#refused.delete(revision);
    else this.#refused.set(revision, verdict);
  }
}
