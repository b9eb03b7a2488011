/** Callers that wait for a number that only grows. */

interface Waiter {
  resolve(): void;
  reject(error: Error): void;
}

export interface WaitLimits {
  readonly timeoutMs: number;
  /** The error after the timeout. */
  timeoutError(): Error;
}

export class Waiters<T extends number | bigint> {
  readonly #waiting = new Map<T, Set<Waiter>>();
  #failed: Error | undefined;

  /** Resolves when `now()` is at least `wanted`. */
  reach(wanted: T, now: () => T, { timeoutMs, timeoutError }: WaitLimits): Promise<void> {
    if (this.#failed !== undefined) return Promise.reject(this.#failed);
    if (now() >= wanted) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const all = this.#waiting.get(wanted) ?? new Set();
      this.#waiting.set(wanted, all);
      const timer = setTimeout(() => {
        all.delete(waiter);
        if (all.size === 0) this.#waiting.delete(wanted);
        reject(timeoutError());
      }, timeoutMs);
      const waiter: Waiter = {
        resolve: () => {
          clearTimeout(timer);
          resolve();
        },
        reject: (error) => {
          clearTimeout(timer);
          reject(error);
        },
      };
      all.add(waiter);
    });
  }

  reached(now: T): void {
    for (const [wanted, all] of this.#waiting) {
      if (wanted > now) continue;
      this.#waiting.delete(wanted);
      for (const waiter of all) waiter.resolve();
    }
  }

  /** Rejects all present and later waiters. */
  fail(error: Error): void {
    this.#failed = error;
    for (const all of this.#waiting.values()) for (const waiter of all) waiter.reject(error);
    this.#waiting.clear();
  }
}
