/** Leases and the events of clients: how much of them there is room for, and what outlives a restart. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { KubeObject } from '../../../src/apimachinery/object.ts';
import { ClientEvents } from '../../../src/daemon/core/client-events.ts';
import { type Capacity, openClientState } from '../../../src/daemon/core/client-state.ts';
import type { Kind } from '../../../src/kinds/kind.ts';
import { CONFIG_MAP } from '../../../src/kinds/kubernetes/config-map.ts';
import { CORE_EVENT, NEW_EVENT } from '../../../src/kinds/kubernetes/event.ts';
import { RELEASE, RELEASE_TYPE } from '../../../src/kinds/kubernetes/helm-release.ts';
import { LEASE } from '../../../src/kinds/kubernetes/lease.ts';
import { CORE_KINDS } from '../../../src/kinds/kubernetes/tables.ts';
import { ClusterRegistry } from '../../../src/registry/cluster-registry.ts';
import type { ObjectRegistry } from '../../../src/registry/registry.ts';
import { openLmdbEngine } from '../../../src/state/engines/lmdb-engine.ts';
import { MemoryEngine } from '../../../src/state/engines/memory-engine.ts';
import { openStore } from '../../../src/state/open-store.ts';
import { scopedStore } from '../../../src/state/scoped-store.ts';
import type { Store } from '../../../src/state/store.ts';
import { stateCodec as codec, writeOptions as options } from '../../support/platform.ts';

const HOUR = 60 * 60_000;
let now = Date.parse('2026-11-22T08:00:00Z');
const clock = { now: () => now };
const onError = (error: unknown): void => {
  throw error;
};

async function create(registry: ObjectRegistry, kind: Kind, body: KubeObject): Promise<KubeObject> {
  const namespace = body.metadata.namespace ?? 'default';
  return (await registry.create({ kind, namespace, body, duplicates: [], options })).object;
}

async function change(
  registry: ObjectRegistry,
  kind: Kind,
  name: string,
  fields: object,
): Promise<KubeObject> {
  const result = await registry.update({
    ...{ verb: 'patch', kind, namespace: 'default', name, duplicates: [], options },
    change: (current) => ({ ...current, ...fields }),
  });
  return result.object;
}

function lease(name: string, namespace = 'default', holder = 'a'): KubeObject {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, namespace },
    spec: { holderIdentity: holder },
  };
}

/** State of clients over a store of clusters. */
async function stateIn(store: Store, capacity?: ReadonlyMap<Kind, Capacity>) {
  const clusters = { scopedStore: async (name: string) => scopedStore(store, name) };
  const surface = openClientState({ clusters, clock, ...(capacity && { capacity }) });
  return await surface.open();
}

test('leases are limited per namespace, in total and in size', async () => {
  const store = await openStore({ engine: new MemoryEngine(), codec, onError });
  const room = new Map([[LEASE, { objects: 3, inNamespace: 2, bytes: 1000 }]]);
  const { registry } = await stateIn(store, room);
  await create(registry, LEASE, lease('a'));
  await create(registry, LEASE, lease('b'));
  await expect(create(registry, LEASE, lease('c'))).rejects.toMatchObject({
    code: 403,
    message: expect.stringContaining(
      'room for 2 in the namespace "default"; delete some leases first',
    ),
  });
  await create(registry, LEASE, lease('a', 'other'));
  await expect(create(registry, LEASE, lease('a', 'third'))).rejects.toMatchObject({ code: 403 });
  const large = { spec: { holderIdentity: 'x'.repeat(1000) } };
  await expect(change(registry, LEASE, 'a', large)).rejects.toMatchObject({ code: 413 });
  // Whoever has one keeps it, however full it is.
  await change(registry, LEASE, 'a', { spec: { holderIdentity: 'b' } });
  await registry.delete({ kind: LEASE, namespace: 'default', name: 'b', options, delete: {} });
  await create(registry, LEASE, lease('c'));
  await store.close();
});

function release(name: string, bytes: number, type = RELEASE_TYPE): KubeObject {
  const data = { release: Buffer.alloc(bytes, 'x').toString('base64') };
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, type, data };
}

const { type: _type, ...secretOfNoType } = release('a', 1);

function configMap(name: string, fields: object): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, ...fields };
}

test('releases are limited in bytes, and each kind has a limit of its own', async () => {
  const store = await openStore({ engine: new MemoryEngine(), codec, onError });
  const limits = { objects: 10, inNamespace: 10, bytes: 4000, allBytes: 5000 };
  const { registry } = await stateIn(store, new Map([[RELEASE, limits]]));
  await create(registry, RELEASE, release('v1', 1500));
  await create(registry, RELEASE, release('v2', 1200));
  await expect(create(registry, RELEASE, release('v3', 1500))).rejects.toMatchObject({
    code: 403,
    message: expect.stringContaining('room for 5000 bytes in all; delete some secrets first'),
  });
  const grown = { data: { release: 'A'.repeat(3200) } };
  await expect(change(registry, RELEASE, 'v1', grown)).rejects.toMatchObject({ code: 403 });
  await change(registry, RELEASE, 'v1', { data: { release: 'AAAA' } });
  await create(registry, RELEASE, release('v3', 1500));
  await expect(create(registry, RELEASE, release('v4', 4000))).rejects.toMatchObject({ code: 413 });
  await create(registry, CONFIG_MAP, configMap('other', { data: { text: 'x'.repeat(9000) } }));
  await store.close();
});

test.each<[string, Kind, KubeObject, string]>([
  [
    'a secret that is no release',
    RELEASE,
    release('a', 1, 'Opaque'),
    'only helm.sh/release.v1 is stored here, for Helm; secrets of other types are SharedSecrets',
  ],
  ['a secret of no type', RELEASE, secretOfNoType, 'only helm.sh/release.v1'],
  ['a key with a slash', CONFIG_MAP, configMap('a', { data: { 'a/b': '' } }), 'data'],
  ['text for bytes', CONFIG_MAP, configMap('a', { binaryData: { a: '?' } }), 'base64'],
  [
    'one key for both',
    CONFIG_MAP,
    configMap('a', { data: { a: '' }, binaryData: { a: '' } }),
    'duplicate of key present in binaryData',
  ],
])('%s is refused', async (_what, kind, body, words) => {
  const store = await openStore({ engine: new MemoryEngine(), codec, onError });
  const { registry } = await stateIn(store);
  await expect(create(registry, kind, body)).rejects.toMatchObject({
    code: 422,
    message: expect.stringContaining(words),
  });
  await store.close();
});

test('immutable data stays, and its metadata may change', async () => {
  const store = await openStore({ engine: new MemoryEngine(), codec, onError });
  const { registry } = await stateIn(store);
  const fixed = configMap('fixed', { immutable: true, data: { a: '1' } });
  await create(registry, CONFIG_MAP, fixed);
  for (const fields of [
    { data: { a: '2' } },
    { immutable: false },
    { binaryData: { b: 'AA==' } },
  ]) {
    await expect(change(registry, CONFIG_MAP, 'fixed', fields)).rejects.toMatchObject({
      code: 422,
      message: expect.stringContaining('field is immutable when `immutable` is set'),
    });
  }
  const { metadata } = registry.get({
    kind: CONFIG_MAP,
    namespace: 'default',
    name: 'fixed',
  }).object;
  await change(registry, CONFIG_MAP, 'fixed', { metadata: { ...metadata, labels: { a: 'b' } } });
  await store.close();
});

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'leases-'));
});
afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

test('a lease that was answered is there after a restart, with its version', async () => {
  const open = async (): Promise<Store> =>
    await openStore({ engine: await openLmdbEngine(directory, { onError }), codec, onError });
  const before = await open();
  const { registry } = await stateIn(before);
  await create(registry, LEASE, lease('leader'));
  const held = await change(registry, LEASE, 'leader', { spec: { holderIdentity: 'b' } });
  expect(held.metadata).not.toHaveProperty('generation');
  await before.close();
  const after = await open();
  const again = await stateIn(after);
  const target = { kind: LEASE, namespace: 'default', name: 'leader' };
  expect(again.registry.get(target).object).toEqual(held);
  await after.close();
});

test('a lease that another client took meanwhile is not taken', async () => {
  const store = await openStore({ engine: new MemoryEngine(), codec, onError });
  const { registry } = await stateIn(store);
  const { metadata } = await create(registry, LEASE, lease('leader'));
  const take = (holder: string): Promise<unknown> =>
    registry.update({
      ...{ verb: 'update', kind: LEASE, namespace: 'default', name: 'leader' },
      ...{ duplicates: [], options },
      change: () => ({ ...lease('leader', 'default', holder), metadata }),
    });
  const results = await Promise.allSettled(['b', 'c', 'd'].map(take));
  expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected']);
  await store.close();
});

function event(name: string, namespace = 'default', message = 'x'): KubeObject {
  return {
    ...{ apiVersion: 'v1', kind: 'Event', metadata: { name, namespace } },
    ...{ involvedObject: { namespace, name: 'it', kind: 'Team' }, message, reason: 'R' },
    ...{ type: 'Normal', count: 1 },
  };
}

async function events(of: { events: number; inNamespace: number; bytes?: number }) {
  const store = await openStore({ engine: new MemoryEngine(), codec, onError });
  const limits = { bytesOfOne: 4000, bytes: 1_000_000, keepMs: HOUR, ...of };
  const written = new ClientEvents({ store, clock, limits });
  const registry = new ClusterRegistry({
    ...{ kinds: CORE_KINDS, store: written.store, clock, guards: [written.guard] },
  });
  const names = ({ group, kind }: Kind = CORE_EVENT): string[] =>
    store.list({ group, kind }).items.map(({ key }) => `${key.namespace}/${key.name}`);
  return { store, written, registry, names };
}

test('an event is in both groups, and what one of them changes the other shows', async () => {
  const { registry, names, store } = await events({ events: 10, inNamespace: 10 });
  const { metadata } = await create(registry, CORE_EVENT, event('a'));
  const target = { kind: NEW_EVENT, namespace: 'default', name: 'a' };
  const { object } = registry.get(target);
  expect(object).toMatchObject({
    ...{ apiVersion: 'events.k8s.io/v1', note: 'x', deprecatedCount: 1 },
    ...{ regarding: { name: 'it' }, metadata: { uid: metadata.uid } },
  });
  expect(object).not.toHaveProperty('message');
  await change(registry, CORE_EVENT, 'a', { count: 2, message: 'y' });
  expect(registry.get(target).object).toMatchObject({ note: 'y', deprecatedCount: 2 });
  const labels = { metadata: { ...object.metadata, resourceVersion: '', labels: { a: 'b' } } };
  await change(registry, NEW_EVENT, 'a', labels);
  expect(registry.get({ ...target, kind: CORE_EVENT }).object).toMatchObject({
    ...{ message: 'y', count: 2, metadata: { labels: { a: 'b' } } },
  });
  await registry.delete({ ...target, options, delete: {} });
  expect([...names(), ...names(NEW_EVENT)]).toEqual([]);
  await store.close();
});

test('the events that were written longest ago make room, those of a full namespace first', async () => {
  const { registry, names, store } = await events({ events: 4, inNamespace: 2 });
  await create(registry, CORE_EVENT, event('a', 'quiet'));
  for (const name of ['a', 'b']) await create(registry, CORE_EVENT, event(name));
  await change(registry, CORE_EVENT, 'a', { count: 2 });
  await create(registry, CORE_EVENT, event('c'));
  expect(names()).toEqual(['default/a', 'default/c', 'quiet/a']);
  for (const name of ['a', 'b']) await create(registry, CORE_EVENT, event(name, 'third'));
  expect(names()).toEqual(['default/a', 'default/c', 'third/a', 'third/b']);
  expect(names(NEW_EVENT)).toEqual(names());
  await store.close();
});

test('events are dropped an hour after they were last written, and when they are too many bytes', async () => {
  const { registry, names, written, store } = await events({
    ...{ events: 10, inNamespace: 10, bytes: 7000 },
  });
  await create(registry, CORE_EVENT, event('a'));
  await create(registry, CORE_EVENT, event('b'));
  now += HOUR / 2;
  await change(registry, CORE_EVENT, 'a', { count: 2 });
  now += HOUR / 2;
  written.removeOld();
  expect(names()).toEqual(['default/a']);
  now += HOUR / 2;
  written.removeOld();
  expect([...names(), ...names(NEW_EVENT)]).toEqual([]);
  for (const name of ['c', 'd', 'e']) {
    await create(registry, CORE_EVENT, event(name, 'default', 'x'.repeat(2000)));
  }
  expect(names()).toEqual(['default/d', 'default/e']);
  const large = event('f', 'default', 'x'.repeat(4000));
  await expect(create(registry, CORE_EVENT, large)).rejects.toMatchObject({ code: 413 });
  await store.close();
});
