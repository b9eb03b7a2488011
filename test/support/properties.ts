/**
 * Property tests draw the same cases in every run, so that a commit has one verdict. `npm run fuzz`
 * draws others, ten times as many. A failure prints its seed; GITPLANE_TEST_SEED=<seed> repeats it.
 */
import * as fc from 'fast-check';

const wanted = process.env['GITPLANE_TEST_SEED'] ?? '2026';

if (wanted !== 'random') fc.configureGlobal({ seed: Number(wanted) });

/** How many cases a property is tried with: GITPLANE_TEST_RUNS multiplies them. */
export function runs(count: number): number {
  return count * Number(process.env['GITPLANE_TEST_RUNS'] ?? 1);
}

/**
 * A predicate that accepts all cases unseen once the time since its first call is over.
 * `interruptAfterTimeLimit` of fast-check returns while a case still runs, which then works on folders
 * that the end of the test removes.
 */
export function forMilliseconds<Args extends unknown[]>(
  milliseconds: number,
  predicate: (...args: Args) => Promise<void>,
): (...args: Args) => Promise<void> {
  let end: number | undefined;
  return async (...args) => {
    end ??= performance.now() + milliseconds;
    if (performance.now() < end) await predicate(...args);
  };
}
