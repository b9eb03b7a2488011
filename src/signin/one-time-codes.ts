/** Short-lived codes that stand for something that is kept here, each good for one use. */
import { random } from './transactions.ts';

export class OneTimeCodes<T> {
  readonly #clock: { now(): number };
  readonly #lifeMs: number;
  readonly #most: number;
  readonly #mostSize: number;
  #size = 0;
  /** In the order they were given out. */
  readonly #kept = new Map<string, Kept<T>>();

  /** `mostSize`: of all values together, in what `keep` is told; the oldest go first. */
  constructor(of: {
    clock: { now(): number };
    lifeMs: number;
    most: number;
    mostSize?: number;
  }) {
    this.#clock = of.clock;
    this.#lifeMs = of.lifeMs;
    this.#most = of.most;
    this.#mostSize = of.mostSize ?? Number.POSITIVE_INFINITY;
  }

  /** 256 random bits. */
  keep(value: T, size = 0): string {
    const now = this.#clock.now();
    for (const [code, { until }] of this.#kept) {
      const hasRoom = this.#kept.size < this.#most && this.#size + size <= this.#mostSize;
      if (hasRoom && now < until) break;
      this.#forget(code);
    }
    const code = random();
    this.#kept.set(code, { value, until: now + this.#lifeMs, size });
    this.#size += size;
    return code;
  }

  /** Undefined for a code that is unknown, used or too old. */
  take(code: string): T | undefined {
    const kept = this.#forget(code);
    return kept !== undefined && this.#clock.now() < kept.until ? kept.value : undefined;
  }

  #forget(code: string): Kept<T> | undefined {
    const kept = this.#kept.get(code);
    if (kept !== undefined) this.#size -= kept.size;
    this.#kept.delete(code);
    return kept;
  }
}

interface Kept<T> {
  readonly value: T;
  /** Unix time in ms. */
  readonly until: number;
  readonly size: number;
}
