/** Short-lived codes that stand for something that is kept here, each good for one use. */
import { random } from './transactions.ts';

export class OneTimeCodes<T> {
  readonly #clock: { now(): number };
  readonly #lifeMs: number;
  readonly #most: number;
  /** In the order they were given out. */
  readonly #kept = new Map<string, { readonly value: T; readonly until: number }>();

  constructor(of: { clock: { now(): number }; lifeMs: number; most: number }) {
    this.#clock = of.clock;
    this.#lifeMs = of.lifeMs;
    this.#most = of.most;
  }

  /** 256 random bits. */
  keep(value: T): string {
    const now = this.#clock.now();
    for (const [code, { until }] of this.#kept) {
      if (this.#kept.size < this.#most && now < until) break;
      this.#kept.delete(code);
    }
    const code = random();
    this.#kept.set(code, { value, until: now + this.#lifeMs });
    return code;
  }

  /** Undefined for a code that is unknown, used or too old. */
  take(code: string): T | undefined {
    const kept = this.#kept.get(code);
    this.#kept.delete(code);
    return kept !== undefined && this.#clock.now() < kept.until ? kept.value : undefined;
  }
}
