import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mapLimit } from '../../src/concurrency/map-limit.ts';

describe('mapLimit', () => {
  test('gives the results in the order of the items, with no more jobs at once than the limit', async () => {
    const times = fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(times, fc.integer({ min: 1, max: 5 }), async (items, limit) => {
        let running = 0;
        let most = 0;
        const results = await mapLimit(items, limit, async (ms, index) => {
          most = Math.max(most, ++running);
          await sleep(ms);
          running -= 1;
          return [index, ms];
        });

        expect(results).toEqual(items.map((ms, index) => [index, ms]));
        expect(most).toBe(Math.min(limit, items.length));
      }),
      { numRuns: 30 },
    );
  });

  test('starts no job after one failed, and rejects when the running ones have ended', async () => {
    const started: number[] = [];
    const ended: number[] = [];
    const all = mapLimit([0, 1, 2, 3, 4], 2, async (item) => {
      started.push(item);
      if (item === 0) throw new Error('item 0 failed');
      await sleep(5);
      ended.push(item);
    });

    await expect(all).rejects.toThrow('item 0 failed');
    expect(started).toEqual([0, 1]);
    expect(ended).toEqual([1]);
  });

  test('rejects for a failure that is undefined too', async () => {
    await expect(mapLimit([1], 1, () => Promise.reject())).rejects.toBeUndefined();
  });
});
