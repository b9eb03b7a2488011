/** Project secrets that are tied to the store, beside those that follow a shared secret. */
import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../src/apimachinery/object.ts';
import { dataToCopy } from '../../src/kinds/secrets/derived-secrets.ts';
import { kindOf } from '../support/platform.ts';
import { openSynced, PATH, type SyncedPlatform, secret } from './synced-platform.ts';

const PROJECT = 'p-web';
const LABELS = {
  'gitplane.dev/sharedsecret-name': 'mail',
  'gitplane.dev/sharedsecret-namespace': 'default',
};

function shown({ platform }: SyncedPlatform, name = 'mail'): KubeObject | undefined {
  return platform.find('projectsecrets', name, PROJECT)?.object;
}

function data(synced: SyncedPlatform, name?: string): unknown {
  const found = shown(synced, name)?.spec?.['data'] as Record<string, string> | undefined;
  return Object.fromEntries(
    Object.entries(found ?? {}).map(([key, text]) => [key, Buffer.from(text, 'base64').toString()]),
  );
}

function conditions(synced: SyncedPlatform): unknown {
  const all = (shown(synced)?.status?.['conditions'] ?? []) as Record<string, string>[];
  return all.map(({ type, status, reason }) => `${type}=${status} ${reason}`);
}

// biome-ignore lint/suspicious/noExplicitAny: a test changes what it likes
async function change(synced: SyncedPlatform, edit: (object: any) => void): Promise<void> {
  await synced.platform.registry.update({
    verb: 'patch',
    kind: kindOf('projectsecrets'),
    namespace: PROJECT,
    name: 'mail',
    duplicates: [],
    options: { user: { name: 'ann', groups: [] }, dryRun: false, fieldValidation: 'Strict' },
    change: (current) => {
      const copy = structuredClone(current);
      edit(copy);
      return copy;
    },
  });
}

test('a project secret is pulled and pushed as a shared secret is', async () => {
  const synced = await openSynced();
  const both = secret('mail', { ours: '1' }, { direction: 'both', adopt: 'prefer-store' });
  synced.mount.put(PATH, { theirs: '2' });
  await synced.platform.create('projectsecrets', both, PROJECT);
  await synced.cycle();
  expect(conditions(synced)).toEqual(['Synced=True Synced']);
  expect(synced.sync.report().counts).toMatchObject({ synced: 1 });

  synced.mount.put(PATH, { ...synced.mount.live(PATH), theirs: '3' });
  await synced.cycle();
  expect(data(synced)).toMatchObject({ theirs: '3' });

  await change(synced, (object) => {
    Object.assign(object.spec.data, { ours: 'NA==' });
  });
  await synced.cycle();
  expect(synced.mount.live(PATH)).toMatchObject({ ours: '4', theirs: '3' });
  expect(conditions(synced)).toEqual(['Synced=True Synced']);
});

test('the condition goes with the tie', async () => {
  const synced = await openSynced();
  synced.mount.put(PATH, { a: '1' });
  await synced.platform.create('projectsecrets', secret('mail', {}), PROJECT);
  await synced.cycle();
  await change(synced, (object) => {
    delete object.metadata.annotations;
  });
  await synced.cycle();

  expect(data(synced)).toEqual({ a: '1' });
  expect(conditions(synced)).toEqual([]);
});

test('a project secret that follows a tied shared secret has its data, and reports it', async () => {
  const synced = await openSynced();
  synced.mount.put(PATH, { a: '1' });
  await synced.tie({});
  const follower = { metadata: { name: 'mail', labels: LABELS } };
  await synced.platform.create('projectsecrets', follower, PROJECT);
  await synced.cycle();

  expect(data(synced)).toEqual({ a: '1' });
  expect(conditions(synced)).toEqual(['Synced=True Copied']);
});

test('two masters are refused, with the remedy', async () => {
  const synced = await openSynced();
  const object = secret('mail', {}) as { metadata: object };
  const both = { ...object, metadata: { ...object.metadata, labels: LABELS }, spec: {} };

  await expect(synced.platform.create('projectsecrets', both, PROJECT)).rejects.toThrow(
    /secret-store-kv-mount-path.*names a shared secret to follow; link that one to the store/,
  );
});

describe('a secret of a cluster', () => {
  const condition = { type: 'Synced', status: 'False', reason: 'Unreachable', message: '' };
  const source = (labels: Record<string, string>): KubeObject =>
    ({
      ...(secret('mail', { a: '1' }) as KubeObject),
      metadata: { name: 'mail', labels },
      status: { conditions: [condition] },
    }) as unknown as KubeObject;

  test('has what git has while the store is away', () => {
    expect(dataToCopy(source({}))).toEqual({ a: 'MQ==' });
  });

  test('keeps what it has while the project secret has not the data of its source', () => {
    expect(dataToCopy(source(LABELS))).toBeUndefined();
  });
});
