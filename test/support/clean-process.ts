/** Setup of files that share a process: clocks, mocks and variables that a file replaced are put back. */
import { afterAll, vi } from 'vitest';

const CLOCK = Symbol.for('gitplane.test.clock');
const shared = globalThis as typeof globalThis & { [CLOCK]?: typeof setTimeout };
/** The first file of this process finds the real one. */
shared[CLOCK] ??= setTimeout;
const clock = shared[CLOCK];

afterAll(() => {
  // Mocks first: one of a fake clock would put that back.
  vi.restoreAllMocks();
  vi.useRealTimers();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  if (globalThis.setTimeout === clock) return;
  globalThis.setTimeout = clock;
  throw new Error('This file left a replaced setTimeout to the files after it');
});
