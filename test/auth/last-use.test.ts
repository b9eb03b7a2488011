import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ActivityTracker, SAVE_INTERVAL_MS } from '../../src/auth/access-keys/last-use.ts';

let saved: [string, number][][];
let errors: unknown[];
let fail: boolean;
let tracker: ActivityTracker;

beforeEach(() => {
  vi.useFakeTimers();
  [saved, errors, fail] = [[], [], false];
  tracker = new ActivityTracker({
    save: (lastUse) => {
      if (fail) throw new Error('disk full');
      saved.push([...lastUse]);
    },
    onError: (error) => errors.push(error),
  });
});

afterEach(() => {
  vi.useRealTimers();
});

test('uses are saved together, one interval after the first', async () => {
  tracker.record('a', 1000, false);
  await vi.advanceTimersByTimeAsync(SAVE_INTERVAL_MS / 2);
  tracker.record('b', 2000, false);
  tracker.record('a', 3000, false);
  expect(saved).toEqual([]);
  await vi.advanceTimersByTimeAsync(SAVE_INTERVAL_MS / 2);
  expect(saved).toEqual([
    [
      ['a', 3000],
      ['b', 2000],
    ],
  ]);
  await vi.advanceTimersByTimeAsync(SAVE_INTERVAL_MS * 5);
  expect(saved).toHaveLength(1);
});

test('ten thousand uses in a minute are one save', async () => {
  for (let at = 0; at < 10_000; at++) tracker.record('a', at * 6, false);
  await vi.advanceTimersByTimeAsync(SAVE_INTERVAL_MS);
  expect(saved).toHaveLength(1);
});

test('the last use is known at once, to the millisecond', () => {
  tracker.record('a', 1000, false);
  tracker.record('a', 1999, false);
  expect(tracker.lastUse('a')).toBe(1999);
  expect(tracker.lastUse('b')).toBeUndefined();
});

test('a use that must not be lost is saved at once, at most once a second', async () => {
  for (const at of [1000, 1400, 1999, 2000]) tracker.record('a', at, true);
  await vi.advanceTimersByTimeAsync(0);
  expect(saved.flat().at(-1)).toEqual(['a', 2000]);
  expect(saved.length).toBeLessThanOrEqual(2);
});

test('a stop saves the rest and leaves no timer', async () => {
  tracker.record('a', 1000, false);
  await tracker.stop();
  expect(saved).toEqual([[['a', 1000]]]);
  expect(vi.getTimerCount()).toBe(0);
});

test('a stop that cannot save reports it and leaves no timer', async () => {
  fail = true;
  tracker.record('a', 1000, false);
  await expect(tracker.stop()).rejects.toThrow('disk full');
  expect(vi.getTimerCount()).toBe(0);
});

test('a use that could not be saved is saved the next time, unless there is a later one', async () => {
  fail = true;
  tracker.record('a', 1000, false);
  tracker.record('b', 1000, false);
  await vi.advanceTimersByTimeAsync(SAVE_INTERVAL_MS);
  expect(errors).toHaveLength(1);
  fail = false;
  tracker.record('b', 9000, false);
  await vi.advanceTimersByTimeAsync(SAVE_INTERVAL_MS);
  expect(saved).toHaveLength(1);
  expect(Object.fromEntries(saved[0] ?? [])).toEqual({ a: 1000, b: 9000 });
  expect(errors).toHaveLength(1);
});

test('a key that is forgotten is neither known nor saved', async () => {
  tracker.record('a', 1000, false);
  tracker.drop('a');
  expect(tracker.lastUse('a')).toBeUndefined();
  await tracker.stop();
  expect(saved).toEqual([]);
});

test('a key that is forgotten while its save fails is not saved later', async () => {
  const batches: string[][] = [];
  const slow = new ActivityTracker({
    save: async (lastUse) => {
      batches.push([...lastUse.keys()]);
      await Promise.resolve();
      if (batches.length === 1) throw new Error('disk full');
    },
    onError: (error) => errors.push(error),
  });
  slow.record('a', 1000, false);
  slow.record('b', 1000, false);
  const failing = slow.save();
  await Promise.resolve();
  await Promise.resolve();
  expect(batches).toEqual([['a', 'b']]);
  slow.drop('b');
  await expect(failing).rejects.toThrow('disk full');
  await slow.stop();
  expect(batches).toEqual([['a', 'b'], ['a']]);
});

test('saves do not overlap', async () => {
  let running = 0;
  let most = 0;
  const slow = new ActivityTracker({
    save: async () => {
      running++;
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve, 10));
      running--;
    },
    onError: (error) => errors.push(error),
  });
  for (let at = 0; at < 5; at++) slow.record('a', at * 1000, true);
  const stopped = slow.stop();
  await vi.advanceTimersByTimeAsync(1000);
  await stopped;
  expect(most).toBe(1);
});
