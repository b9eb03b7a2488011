import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { backoffAfter, backoffBound, pause, RetryDelay } from '../../src/concurrency/backoff.ts';
import { WorkQueue } from '../../src/concurrency/work-queue.ts';
import { runs } from '../support/properties.ts';

afterEach(() => {
  // In this order: the mock is one of the fake clock.
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const PATIENCE = { firstMs: 100, lastMs: 30_000 };

test.each([
  [1, 50, 100],
  [2, 100, 200],
  [3, 200, 400],
  [9, 12_800, 25_600],
  [10, 15_000, 30_000],
  [1_000_000, 15_000, 30_000],
])('the delay after %i failures in a row is between %i and %i ms', (failures, least, most) => {
  expect(backoffAfter(failures, PATIENCE, () => 0)).toBe(least);
  expect(backoffAfter(failures, PATIENCE, () => 1)).toBe(most);
});

test('many who failed together do not come back together', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 40 }), (failures) => {
      const waits = Array.from({ length: 50 }, () => backoffAfter(failures, PATIENCE));
      expect(new Set(waits).size).toBeGreaterThan(40);
    }),
    { numRuns: runs(20) },
  );
});

test('bounds double up to the last one, and delays of a loop are these bounds until it is reset', () => {
  const times = fc.integer({ min: 1, max: 100_000 });
  fc.assert(
    fc.property(times, times, fc.integer({ min: 1, max: 60 }), (firstMs, lastMs, failures) => {
      const backoff = { firstMs, lastMs };
      const bounds = Array.from({ length: failures }, (_, at) => backoffBound(at + 1, backoff));
      for (const [at, bound] of bounds.entries()) {
        expect(bound).toBe(Math.min(lastMs, at === 0 ? firstMs : 2 * (bounds[at - 1] ?? 0)));
      }
      const delay = new RetryDelay(backoff);
      expect(bounds.map(() => delay.next())).toEqual(bounds);
      delay.reset();
      expect(delay.next()).toBe(bounds[0]);
    }),
    { numRuns: runs(50) },
  );
});

test('a pause ends at once when it is called off', async () => {
  const stop = new AbortController();
  const started = performance.now();
  const paused = pause(60_000, stop.signal);
  stop.abort();
  await paused;
  await pause(60_000, stop.signal);

  expect(performance.now() - started).toBeLessThan(10_000);
});

test('a key that fails again and again comes back later each time, and at once when something is new', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const waits: number[] = [];
  const timer = vi.spyOn(globalThis, 'setTimeout');
  let tries = 0;
  const queue = new WorkQueue({
    reconcile: async () => {
      tries += 1;
      throw new Error('no');
    },
    workers: 1,
    backoff: { firstMs: 20, lastMs: 60_000 },
  });
  queue.add('a');
  for (let i = 0; i < 6; i++) {
    await vi.waitFor(() => expect(timer).toHaveBeenCalledTimes(i + 1));
    waits.push(Number(timer.mock.calls.at(-1)?.[1]));
    if (i < 5) vi.runOnlyPendingTimers();
  }
  for (const [i, wait] of waits.entries()) {
    expect(wait).toBeGreaterThanOrEqual(10 * 2 ** i);
    expect(wait).toBeLessThanOrEqual(20 * 2 ** i);
  }
  queue.add('a');
  await vi.waitFor(() => expect(tries).toBe(7));
  await queue.stop();
});
