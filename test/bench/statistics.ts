/** Numbers from repeated measurements. On shared hardware only medians and ratios mean anything. */

export interface Summary {
  readonly median: number;
  /** By nearest rank; with fewer than 100 samples it is the largest of them. */
  readonly p99: number;
  readonly min: number;
  readonly max: number;
  readonly samples: number;
}

/** Throws RangeError when there is nothing to sum up. */
export function summarize(samples: readonly number[]): Summary {
  const sorted = [...samples].sort((a, b) => a - b);
  const at = (index: number): number => {
    const value = sorted[index];
    if (value === undefined) throw new RangeError('Nothing was measured');
    return value;
  };
  const last = sorted.length - 1;
  return {
    median: (at(Math.floor(last / 2)) + at(Math.ceil(last / 2))) / 2,
    p99: at(Math.ceil(0.99 * sorted.length) - 1),
    min: at(0),
    max: at(last),
    samples: sorted.length,
  };
}

/** Milliseconds that `work` took, with what it returned. */
export async function timed<T>(work: () => T | Promise<T>): Promise<{ ms: number; result: T }> {
  const started = performance.now();
  const result = await work();
  return { ms: performance.now() - started, result };
}
