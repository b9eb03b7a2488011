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
