/** Waits between retries. */

export interface Backoff {
  readonly firstMs: number;
  readonly lastMs: number;
}

/** Wait after `failures` in a row, without jitter: `firstMs`, doubled with each failure, up to `lastMs`. */
export function backoffBound(failures: number, { firstMs, lastMs }: Backoff): number {
  return Math.min(lastMs, firstMs * 2 ** Math.min(failures - 1, 30));
}

/**
 * Wait after `failures` in a row: a random time between half the bound and the bound, so that clients
 * that failed together do not retry together.
 */
export function backoffAfter(
  failures: number,
  backoff: Backoff,
  random: () => number = Math.random,
): number {
  const bound = backoffBound(failures, backoff);
  return bound / 2 + (bound / 2) * random();
}

/** Waits of one loop, without jitter: each longer than the one before, until `reset`. */
export class RetryDelay {
  readonly #backoff: Backoff;
  #failures = 0;

  constructor(backoff: Backoff) {
    this.#backoff = backoff;
  }

  /** Milliseconds to wait after one more failure. */
  next(): number {
    this.#failures += 1;
    return backoffBound(this.#failures, this.#backoff);
  }

  /** To be called after a success. */
  reset(): void {
    this.#failures = 0;
  }
}

/** Resolves after the time, or when the signal is aborted. `ref: false`: does not keep the process. */
export function pause(ms: number, signal?: AbortSignal, { ref = true } = {}): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) {
      resolve();
      return;
    }
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    if (!ref) timer.unref();
    signal?.addEventListener('abort', done);
  });
}
