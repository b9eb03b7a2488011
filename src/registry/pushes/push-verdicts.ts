/** Recently refused pushes, for later questions about a commit. */
import { LRUCache } from 'lru-cache';
import type { Verdict } from './verdict.ts';

const MOST = 128;

export class PushVerdicts {
  readonly #refused = new LRUCache<string, Verdict>({ max: MOST });
  #count = 0;

  /** Number of verdicts. */
  get count(): number {
    return this.#count;
  }

  /** The refusal of this commit, unless a later push of it was accepted. */
  refusalOf(revision: string): Verdict | undefined {
    return this.#refused.get(revision);
  }

  record(revision: string, verdict: Verdict): void {
    this.#count++;
    if (verdict.ok) this.#refused.delete(revision);
    else this.#refused.set(revision, verdict);
  }
}
