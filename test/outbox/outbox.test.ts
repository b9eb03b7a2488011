/** The queue of deliveries: order, retries, limits, and what a process that ends leaves to the next one. */
import { expect, onTestFinished, test } from 'vitest';
import { type Delivery, DeliveryError } from '../../src/outbox/delivery.ts';
import { Outbox, type OutboxLimits } from '../../src/outbox/outbox.ts';
import { MemoryEngine } from '../../src/state/engines/memory-engine.ts';
import { openStore } from '../../src/state/open-store.ts';
import type { Store } from '../../src/state/store.ts';
import { stateCodec as codec } from '../support/platform.ts';

const onError = (error: unknown): void => {
  throw error;
};

async function openMemory(disk = new Map<string, Buffer>()): Promise<Store> {
  const store = await openStore({ engine: new MemoryEngine(disk), codec, onError });
  onTestFinished(() => store.close());
  return store;
}

interface Setup {
  readonly store: Store;
  readonly limits?: Partial<OutboxLimits>;
  readonly clock?: { now(): number };
  readonly assertMayAct?: () => void;
  deliver?(delivery: Delivery, signal: AbortSignal): Promise<void>;
}

/** `failing`: destinations whose problem is thrown, until they are removed. */
function open(setup: Setup) {
  const delivered: string[] = [];
  const attempts: string[] = [];
  const results: string[] = [];
  const warnings: string[] = [];
  const failing = new Map<string, DeliveryError>();
  const outbox = new Outbox({
    store: setup.store,
    clock: setup.clock ?? { now: () => Date.now() },
    assertMayAct: setup.assertMayAct,
    logger: { info: () => undefined, warn: (_fields, message) => void warnings.push(message) },
    observer: {
      ended: (destination, result) => void results.push(`${destination} ${result}`),
      failed: () => undefined,
    },
    limits: { firstRetryMs: 5, lastRetryMs: 10, ...setup.limits },
    deliver: async (delivery, signal) => {
      const name = `${delivery.destination} ${String(delivery.payload['n'])}`;
      attempts.push(name);
      const problem = failing.get(delivery.destination) ?? failing.get(name);
      if (problem !== undefined) throw problem;
      await setup.deliver?.(delivery, signal);
      delivered.push(name);
    },
  });
  onTestFinished(() => outbox.close());
  return { outbox, delivered, attempts, results, warnings, failing };
}

const to = (destination: string, n: number, topic?: string) => ({
  destination,
  payload: { n },
  ...(topic === undefined ? {} : { topic }),
});

test('delivers in order, and leaves nothing in the store', async () => {
  const store = await openMemory();
  const { outbox, delivered } = open({ store });
  outbox.start();
  await outbox.enqueue([to('a', 1), to('a', 2), to('b', 3)]);
  await expect.poll(() => delivered).toHaveLength(3);
  expect(delivered.filter((one) => one.startsWith('a'))).toEqual(['a 1', 'a 2']);
  await expect.poll(() => [...store.documents('outbox:')]).toEqual([]);
  expect(outbox.oldest).toBeUndefined();
});

test('an unavailable destination delays no other, and loses nothing', async () => {
  const { outbox, delivered, failing, warnings } = open({ store: await openMemory() });
  failing.set('a', new DeliveryError('a answered 503', { problem: 'unavailable' }));
  outbox.start();
  await outbox.enqueue([to('a', 1), to('a', 2), to('b', 3)]);
  await expect.poll(() => delivered).toEqual(['b 3']);
  await expect.poll(() => outbox.problems.get('a')).toBe('a answered 503');
  failing.clear();
  await expect.poll(() => delivered).toEqual(['b 3', 'a 1', 'a 2']);
  // One problem is logged once, whatever the number of attempts.
  expect(warnings).toEqual(['Deliveries wait for their destination']);
});

test('a refused delivery is put aside, and the next ones leave', async () => {
  const { outbox, delivered, failing, attempts } = open({ store: await openMemory() });
  failing.set('a 1', new DeliveryError('a answered 422', { problem: 'refused' }));
  outbox.start();
  await outbox.enqueue([to('a', 1), to('a', 2)]);
  await expect.poll(() => delivered).toEqual(['a 2']);
  expect(attempts.filter((one) => one === 'a 1')).toHaveLength(1);
  expect(outbox.counts()).toEqual(new Map([['a', 1]]));
});

test('a refused delivery ends at its age, an unavailable destination later', async () => {
  let now = 0;
  const { outbox, results, failing } = open({
    store: await openMemory(),
    clock: { now: () => now },
    limits: { keepMs: 1000, keepRefusedMs: 0 },
  });
  failing.set('a', new DeliveryError('a answered 400', { problem: 'refused' }));
  failing.set('b', new DeliveryError('b answered 500', { problem: 'unavailable' }));
  outbox.start();
  await outbox.enqueue([to('a', 1), to('b', 2)]);
  await expect.poll(() => results).toEqual(['a expired']);
  now = 1000;
  await expect.poll(() => results).toEqual(['a expired', 'b expired']);
});

test('a newer delivery of a topic replaces one that has not left', async () => {
  const { outbox, delivered, failing, results } = open({ store: await openMemory() });
  failing.set('a', new DeliveryError('no answer', { problem: 'unavailable' }));
  outbox.start();
  await outbox.enqueue([to('a', 1, 'x'), to('a', 2, 'y'), to('a', 3)]);
  await outbox.enqueue([to('a', 4, 'x')]);
  failing.clear();
  await expect.poll(() => delivered).toEqual(['a 2', 'a 3', 'a 4']);
  expect(results[0]).toBe('a replaced');
});

test('the oldest ones make room in a full queue, and the log says so', async () => {
  const store = await openMemory();
  const { outbox, warnings, results } = open({ store, limits: { perDestination: 2 } });
  await outbox.enqueue([to('a', 1), to('a', 2), to('a', 3), to('b', 4)]);
  expect(results).toEqual(['a overflowed']);
  expect(warnings).toEqual(['Too many deliveries wait: the oldest are lost']);
  const stored = [...store.documents('outbox:')].map(([, { payload }]) => payload);
  expect(stored).toEqual([{ n: 2 }, { n: 3 }, { n: 4 }]);
});

test('the next process continues, with the same ids and in order', async () => {
  const disk = new Map<string, Buffer>();
  const store = await openMemory(disk);
  const ids: string[] = [];
  const before = open({
    store,
    // Takes the delivery, and the process ends before the queue knows.
    deliver: ({ id }, signal) =>
      new Promise((_resolve, reject) => {
        ids.push(id);
        signal.addEventListener('abort', () => reject(new Error('the process ends')));
      }),
  });
  before.outbox.start();
  await before.outbox.enqueue([to('a', 1), to('a', 2)], { 'a:record': { at: 2 } });
  await expect.poll(() => ids).toHaveLength(1);
  await before.outbox.close();
  await store.close();
  const reopened = await openMemory(disk);
  expect(reopened.document('a:record')).toEqual({ at: 2 });
  const after = open({ store: reopened, deliver: async ({ id }) => void ids.push(id) });
  after.outbox.start();
  await after.outbox.enqueue([to('a', 3)]);
  await expect.poll(() => after.delivered).toEqual(['a 1', 'a 2', 'a 3']);
  expect(ids[1]).toBe(ids[0]);
  expect(new Set(ids).size).toBe(3);
});

test('obsolete deliveries leave, and documents of another version are skipped', async () => {
  const store = await openMemory();
  store.apply([], { 'outbox:0000000000000001': { made: 'by another version' } });
  const { outbox, failing, results } = open({ store });
  failing.set('gone', new DeliveryError('it is not configured any more', { problem: 'obsolete' }));
  outbox.start();
  await outbox.enqueue([to('gone', 1)]);
  await expect.poll(() => results).toEqual(['gone obsolete']);
});

test('a process that must not act any more delivers nothing', async () => {
  const { outbox, attempts } = open({
    store: await openMemory(),
    assertMayAct: () => {
      throw new Error('another replica leads');
    },
  });
  outbox.start();
  await outbox.enqueue([to('a', 1)]);
  await new Promise((done) => setImmediate(done));
  expect(attempts).toEqual([]);
  expect(outbox.counts()).toEqual(new Map([['a', 1]]));
});
