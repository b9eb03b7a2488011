/** Growing patience with jitter, so that many who failed together do not come back together. */

export interface Backoff {
  readonly firstMs: number;
  readonly lastMs: number;
}

/** The wait before a try, after `failures` in a row: a random part of a bound that doubles. */
export function backoffAfter(
  failures: number,
  { firstMs, lastMs }: Backoff,
  random: () => number = Math.random,
): number {
  const bound = Math.min(lastMs, firstMs * 2 ** Math.min(failures - 1, 30));
  return bound / 2 + (bound / 2) * random();
}

/** Resolves after the time, or at once when the signal ends it. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });
}
