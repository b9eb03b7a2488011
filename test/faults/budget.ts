/**
 * How long the tests of this folder look for faults: briefly with all other tests, or for
 * GITPLANE_FAULTS_SECONDS each (`npm run faults`).
 */

const wanted = process.env['GITPLANE_FAULTS_SECONDS'];

export const isLong = wanted !== undefined;

const seed = process.env['GITPLANE_TEST_SEED'];

/** Of everything that is left to chance. */
export const SEED =
  seed === 'random' || (seed === undefined && isLong) ? Date.now() % 2 ** 31 : Number(seed ?? 2026);

/** Of one test. */
export function seconds(usual: number): number {
  return wanted === undefined ? usual : Number(wanted);
}

/** Time for what is under way at the end of the budget: some hundred seconds, and more on a busy machine. */
const REST_SECONDS = 600;

/** Time limit for vitest. */
export function timeoutMs(usual: number): number {
  return (seconds(usual) + REST_SECONDS) * 1000;
}

/** Whether there is time for more; `usual` in seconds. */
export function budget(usual: number): () => boolean {
  const end = performance.now() + seconds(usual) * 1000;
  return () => performance.now() < end;
}

export function say(text: string): void {
  if (isLong) process.stdout.write(`${text}\n`);
}
