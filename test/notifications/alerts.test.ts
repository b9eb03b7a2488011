/** Announcements of alerts, over restarts. */
import { expect, onTestFinished, test } from 'vitest';
import { type Alert, Alerts, type Receiver } from '../../src/notifications/alerts.ts';
import { readEvent } from '../../src/notifications/event.ts';
import type { NewDelivery } from '../../src/outbox/delivery.ts';
import { MemoryEngine } from '../../src/state/engines/memory-engine.ts';
import { openStore } from '../../src/state/open-store.ts';
import type { Store } from '../../src/state/store.ts';
import { stateCodec as codec } from '../support/platform.ts';

async function openMemory(): Promise<Store> {
  const onError = (error: unknown): void => {
    throw error;
  };
  const store = await openStore({ engine: new MemoryEngine(), codec, onError });
  onTestFinished(() => store.close());
  return store;
}

/** A process: its announcements as `ops Degraded Raised 2`. */
function announcing(store: Store, { isDown = false } = {}) {
  const enqueued: NewDelivery[] = [];
  const alerts = new Alerts({
    store,
    outbox: {
      enqueue: async (deliveries, documents) => {
        if (isDown) throw new Error('the disk is full');
        store.apply([], documents);
        enqueued.push(...deliveries);
      },
    },
  });
  return async (
    present: readonly Alert[],
    receivers: readonly Receiver[] = [{ name: 'ops' }],
  ): Promise<string[]> => {
    await alerts.announce(new Map(present.map((one) => [one.id, one])), receivers);
    return enqueued.splice(0).map(({ destination, payload }) => {
      const { type, phase, count } = readEvent(payload['event']) ?? {};
      return `${destination.replace('notification/', '')} ${type} ${phase} ${count}`;
    });
  };
}

const alert = (type: Alert['type'], subject: string, message = 'm'): Alert => {
  return { id: `${type} ${subject}`, type, subject, message };
};
const [a, b, held] = [alert('Degraded', 'a'), alert('Degraded', 'b'), alert('Held', 'c')];

test('announces each alert when it comes and when it goes, and together', async () => {
  const announce = announcing(await openMemory());
  expect(await announce([a, b, held])).toEqual(['ops Degraded Raised 2', 'ops Held Raised 1']);
  expect(await announce([a, b, held])).toEqual([]);
  expect(await announce([alert('Degraded', 'a', 'other words'), b])).toEqual([
    'ops Held Resolved 1',
  ]);
  expect(await announce([])).toEqual(['ops Degraded Resolved 2']);
});

test('a restart announces what changed meanwhile, and nothing else', async () => {
  const store = await openMemory();
  await announcing(store)([a]);
  expect(await announcing(store)([a])).toEqual([]);
  expect(await announcing(store)([b])).toEqual([
    'ops Degraded Raised 1',
    'ops Degraded Resolved 1',
  ]);
});

test('a failure loses nothing', async () => {
  const store = await openMemory();
  await expect(announcing(store, { isDown: true })([a])).rejects.toThrow('the disk is full');
  expect(await announcing(store)([a])).toEqual(['ops Degraded Raised 1']);
});

test('a receiver gets its events alone', async () => {
  const announce = announcing(await openMemory());
  const receivers: Receiver[] = [
    { name: 'chat', events: ['Held'] },
    { name: 'all', events: ['Held', 'Degraded', 'Applied'] },
    { name: 'none', events: ['KeyExpired'] },
  ];
  expect(await announce([a, held], receivers)).toEqual([
    'chat Held Raised 1',
    'all Degraded Raised 1',
    'all Held Raised 1',
  ]);
});
