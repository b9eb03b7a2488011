import fc from 'fast-check';
import { expect, onTestFinished, test, vi } from 'vitest';
import { WorkQueue } from '../../src/concurrency/work-queue.ts';

function newGate(): { readonly promise: Promise<void>; resolve(): void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve: () => resolve() };
}

const backoff = { firstMs: 1, lastMs: 2 };

test('a key is never worked on twice at a time, and is done again for what came meanwhile', async () => {
  let working = 0;
  const done: string[] = [];
  const gate = newGate();
  const queue = new WorkQueue({
    workers: 4,
    backoff,
    reconcile: async (key) => {
      working += 1;
      expect(working).toBe(1);
      await gate.promise;
      done.push(key);
      working -= 1;
    },
  });
  onTestFinished(() => queue.stop());
  queue.add('a');
  await vi.waitFor(() => expect(working).toBe(1));
  for (let i = 0; i < 5; i++) queue.add('a');
  gate.resolve();
  await vi.waitFor(() => expect(queue.busy).toBe(false));

  expect(done).toEqual(['a', 'a']);
});

test('a key that fails comes back, and keeps no other waiting', async () => {
  const tries: string[] = [];
  const queue = new WorkQueue({
    workers: 1,
    backoff,
    reconcile: async (key) => {
      tries.push(key);
      if (key === 'bad' && tries.filter((one) => one === 'bad').length < 4) throw new Error('no');
    },
  });
  onTestFinished(() => queue.stop());
  queue.add('bad');
  queue.add('good');
  await vi.waitFor(() => expect(tries.filter((key) => key === 'bad')).toHaveLength(4));

  expect(tries.indexOf('good')).toBe(1);
});

test('no more are worked on at once than there are workers', async () => {
  let [working, most] = [0, 0];
  const queue = new WorkQueue({
    workers: 3,
    backoff,
    reconcile: async () => {
      working += 1;
      most = Math.max(most, working);
      await new Promise((resolve) => setImmediate(resolve));
      working -= 1;
    },
  });
  onTestFinished(() => queue.stop());
  for (let i = 0; i < 20; i++) queue.add(`k${i}`);
  await vi.waitFor(() => expect(queue.busy).toBe(false));

  expect(most).toBe(3);
});

test('a stop waits for what is under way, and begins nothing more', async () => {
  const gate = newGate();
  const done: string[] = [];
  const queue = new WorkQueue({
    workers: 1,
    backoff,
    reconcile: async (key) => {
      await gate.promise;
      done.push(key);
    },
  });
  queue.add('a');
  queue.add('b');
  await new Promise((resolve) => setImmediate(resolve));
  const stopped = queue.stop();
  gate.resolve();
  await stopped;

  expect(done).toEqual(['a']);
});

test('a key comes back after the time that it was resolved to, and not before', async () => {
  const times: number[] = [];
  const queue = new WorkQueue({
    workers: 1,
    reconcile: async () => {
      times.push(performance.now());
      return times.length === 1 ? 30 : undefined;
    },
  });
  onTestFinished(() => queue.stop());
  queue.add('a');
  await vi.waitFor(() => expect(times).toHaveLength(2));
  await new Promise((resolve) => setTimeout(resolve, 50));

  expect(times).toHaveLength(2);
  expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(25);
});

test('a delay beyond what timers hold does not fire at once', async () => {
  let calls = 0;
  const queue = new WorkQueue({
    workers: 1,
    reconcile: async () => {
      calls += 1;
      return 2 ** 40;
    },
  });
  onTestFinished(() => queue.stop());
  queue.add('a');
  await new Promise((resolve) => setTimeout(resolve, 30));

  expect(calls).toBe(1);
});

test('the queue never reconciles a key twice at the same time, and once after its last add', async () => {
  const adds = fc.array(
    fc.record({ key: fc.constantFrom('a', 'b', 'c'), later: fc.integer({ min: 0, max: 3 }) }),
    { minLength: 1, maxLength: 20 },
  );
  await fc.assert(
    fc.asyncProperty(adds, fc.integer({ min: 1, max: 3 }), async (all, workers) => {
      const working = new Set<string>();
      const stale = new Set<string>();
      let calls = 0;
      const queue = new WorkQueue({
        workers,
        backoff,
        reconcile: async (key) => {
          expect(working.has(key)).toBe(false);
          working.add(key);
          stale.delete(key);
          calls += 1;
          await new Promise((resolve) => setImmediate(resolve));
          working.delete(key);
          if (calls % 5 === 0) {
            stale.add(key);
            throw new Error('every fifth fails');
          }
        },
      });
      for (const { key, later } of all) {
        stale.add(key);
        queue.add(key);
        for (let tick = 0; tick < later; tick++) {
          await new Promise((resolve) => setImmediate(resolve));
        }
      }
      await vi.waitFor(() => expect([stale.size, queue.busy]).toEqual([0, false]));
      await queue.stop();
    }),
    { numRuns: 20 },
  );
});

test('a wait of 0 that a failed attempt asks for does not take the place of the backoff', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  let tries = 0;
  const queue = new WorkQueue({
    workers: 1,
    backoff: { firstMs: 1000, lastMs: 8000 },
    delayFor: () => 0,
    reconcile: async () => {
      tries += 1;
      throw new Error('no');
    },
  });
  onTestFinished(() => queue.stop());
  queue.add('bad');
  await vi.advanceTimersByTimeAsync(60_000);

  expect(tries).toBeGreaterThan(5);
  expect(tries).toBeLessThan(20);
});
