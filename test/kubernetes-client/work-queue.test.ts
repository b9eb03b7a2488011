import { expect, onTestFinished, test, vi } from 'vitest';
import { WorkQueue } from '../../src/kubernetes-client/work-queue.ts';

function newGate(): { readonly promise: Promise<void>; resolve(): void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve: () => resolve() };
}

const patience = { firstMs: 1, lastMs: 2 };

test('a key is never worked on twice at a time, and is done again for what came meanwhile', async () => {
  let working = 0;
  const done: string[] = [];
  const gate = newGate();
  const queue = new WorkQueue({
    workers: 4,
    patience,
    work: async (key) => {
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
    patience,
    work: async (key) => {
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
    patience,
    work: async () => {
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
    patience,
    work: async (key) => {
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
