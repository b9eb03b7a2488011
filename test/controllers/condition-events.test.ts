import { randomBytes } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { EventRing } from '../../src/apimachinery/object-events.ts';
import { startConditionEvents } from '../../src/controllers/condition-events.ts';
import { buildKindTable } from '../../src/kinds/table.ts';
import { MemoryEngine } from '../../src/state/engines/memory-engine.ts';
import { openStore } from '../../src/state/open-store.ts';
import { sealingCodec } from '../../src/state/records/codec.ts';

const kinds = buildKindTable('example.dev');

async function followed() {
  const store = await openStore({
    engine: new MemoryEngine(),
    codec: sealingCodec(randomBytes(32), () => false),
    onError: (error) => {
      throw error;
    },
  });
  onTestFinished(() => store.close());
  const ring = new EventRing();
  const clock = { now: () => 5000 };
  onTestFinished(startConditionEvents({ kinds, store, events: ring, clock }));
  const put = (
    kind: string,
    conditions: readonly object[],
    labels: Record<string, string> = {},
    annotations: Record<string, string> = {},
  ) => {
    const namespace = kind === 'SharedSecret' ? 'apps' : '';
    const status = conditions.length === 0 ? {} : { status: { conditions: [...conditions] } };
    const object = {
      apiVersion: 'example.dev/v1',
      kind,
      metadata: {
        name: 'it',
        uid: 'u',
        labels,
        annotations,
        ...(namespace === '' ? {} : { namespace }),
      },
      ...status,
    };
    store.apply([
      { type: 'put', key: { group: 'example.dev', kind, namespace, name: 'it' }, object } as never,
    ]);
  };
  const told = (): string[] =>
    ring.list().map(({ type, reason, count }) => `${type} ${reason} ${count}`);
  return { put, told, ring };
}

const BROKEN = {
  type: 'Degraded',
  status: 'True',
  severity: 'Error',
  reason: 'Invalid',
  message: 'a.yaml:1:2',
};

test('a broken manifest is reported once, for any other changes', async () => {
  const { put, told, ring } = await followed();
  put('Team', []);
  put('Team', [BROKEN]);
  put('Team', [BROKEN], { a: 'b' });
  expect(told()).toEqual(['Warning Invalid 1']);
  expect(ring.list()[0]).toMatchObject({
    key: { kind: 'Team', name: 'it' },
    uid: 'u',
    message: 'a.yaml:1:2',
    component: 'gitplane-repository',
    time: 5000,
  });
});

test('another message is another event, and the same trouble again is counted', async () => {
  const { put, told } = await followed();
  put('Team', [BROKEN]);
  put('Team', [{ ...BROKEN, message: 'a.yaml:7:7' }]);
  put('Team', []);
  put('Team', [BROKEN]);
  expect(told()).toEqual(['Warning Invalid 1', 'Warning Invalid 2']);
});

test('a condition without a problem is a normal event', async () => {
  const { put, told } = await followed();
  put('Config', [
    { type: 'InForce', status: 'True', severity: '', reason: 'InForce', message: '' },
  ]);
  expect(told()).toEqual(['Normal InForce 1']);
});

test('a sync with the secret store tells its own events of a secret that is tied', async () => {
  const { put, told } = await followed();
  const annotations = {
    'gitplane.dev/secret-store-kv-mount-path': 'kv',
    'gitplane.dev/secret-store-kv-secret-path': 'it',
  };
  const refused = { type: 'Synced', status: 'False', severity: 'Error', reason: 'Forbidden' };
  put('SharedSecret', [refused], {}, annotations);
  expect(told()).toEqual([]);

  put('SharedSecret', []);
  put('SharedSecret', [refused]);
  expect(told()).toEqual(['Warning Forbidden 1']);
});
