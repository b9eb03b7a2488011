/** Namespaces follow from what is in them. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Identity } from '../../../src/catalog/identity.ts';
import { followNamespaces } from '../../../src/daemon/core/namespaces.ts';
import { MemoryEngine } from '../../../src/state/engines/memory-engine.ts';
import { openStore } from '../../../src/state/open-store.ts';
import type { Store } from '../../../src/state/store.ts';
import { testCodec } from '../../state/harnesses.ts';
import { kinds } from '../../support/platform.ts';

const GROUP = 'management.gitplane.dev';
/** Of the platform. */
const BIRTH = Date.parse('2026-01-05T00:00:00Z') / 1000;

let store: Store;
let core: Store;

function open(): Promise<Store> {
  const onError = (error: unknown): never => {
    throw error;
  };
  return openStore({ engine: new MemoryEngine(), codec: testCodec, onError });
}

beforeEach(async () => {
  [store, core] = await Promise.all([open(), open()]);
});
afterEach(async () => {
  await Promise.all([store.close(), core.close()]);
});

const keyOf = (namespace: string, name: string) =>
  ({ group: GROUP, kind: 'SharedSecret', namespace, name }) as const;

function put(namespace: string, name: string, day: string, note = ''): void {
  const metadata = { name, namespace, creationTimestamp: `2026-${day}T00:00:00Z` };
  const object = { apiVersion: `${GROUP}/v1`, kind: 'SharedSecret', metadata, spec: { note } };
  store.apply([{ type: 'put', key: keyOf(namespace, name), object }]);
}

function remove(namespace: string, name: string): void {
  store.apply([{ type: 'remove', key: keyOf(namespace, name) }]);
}

/** Follows what is in the store, with `born` (by name, days of 2026) known to the catalog. */
function follow(born: Readonly<Record<string, string>> = {}): () => void {
  const identityOf = (name: string): { identity: Identity } => {
    const committerTime = Date.parse(`2026-${born[name]}T00:00:00Z`) / 1000;
    const birth = { id: 'c', committerTime };
    const key = keyOf('', name);
    return { identity: new Identity({ rootCommit: 'r', key, birth, generation: 1 }) };
  };
  const object = ({ name }: { name: string }) => (name in born ? identityOf(name) : undefined);
  return followNamespaces({ kinds, store, catalog: { object } as never, birth: BIRTH }, core);
}

function seen(): Record<string, string> {
  const { items } = core.list({ group: '', kind: 'Namespace' });
  const told = items.map(({ object: { metadata } }) => [
    metadata.name,
    metadata.creationTimestamp?.slice(5, 10),
  ]);
  return Object.fromEntries(told);
}

test('a namespace is as old as the oldest object in it, and ends with the last', () => {
  follow();
  put('apps', 'young', '03-02');
  put('apps', 'old', '02-01');
  put('apps', 'twin', '02-01');
  expect(seen()).toEqual({ default: '01-05', apps: '02-01' });
  remove('apps', 'old');
  expect(seen()['apps']).toBe('02-01');
  remove('apps', 'twin');
  expect(seen()['apps']).toBe('03-02');
  remove('apps', 'young');
  expect(seen()).toEqual({ default: '01-05' });
});

test('a change of an object is no news of its namespace, but a new life is', () => {
  follow();
  put('apps', 'one', '03-02');
  const { resourceVersion } = core;
  put('apps', 'one', '03-02', 'changed');
  expect(core.resourceVersion).toBe(resourceVersion);
  put('apps', 'one', '04-03');
  expect(seen()['apps']).toBe('04-03');
});

test('namespaces of the start count, and default is as old as the platform', () => {
  put('apps', 'one', '03-02');
  put('apps', 'ending', '02-02');
  put('default', 'two', '04-04');
  follow({ one: '03-02', two: '04-04' });
  expect(seen()).toEqual({ apps: '02-02', default: '01-05' });
  remove('default', 'two');
  remove('apps', 'ending');
  expect(seen()).toEqual({ apps: '03-02', default: '01-05' });
});

test('namespaces have no followers after the end', () => {
  const stop = follow();
  stop();
  put('apps', 'one', '03-02');
  expect(seen()).toEqual({ default: '01-05' });
});
