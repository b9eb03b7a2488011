/** The last pushes that were refused, for those who ask later what became of a commit. */
import type { Verdict } from './verdict.ts';

const MOST = 128;

export class PushVerdicts {
  readonly #refused = new Map<string, Verdict>();
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
    this.#refused.delete(revision);
    if (verdict.ok) return;
    this.#refused.set(revision, verdict);
    const [oldest] = this.#refused.keys();
    if (this.#refused.size > MOST && oldest !== undefined) this.#refused.delete(oldest);
  }
}
