/** What a cycle asks of the store when nothing, or little, has changed. */
import { describe, expect, test } from 'vitest';
import { openSynced, type SyncedPlatform } from './synced-platform.ts';

const COUNT = 12;

async function many(listsVersions: boolean): Promise<SyncedPlatform> {
  const synced = await openSynced();
  synced.mount.listsVersions = listsVersions;
  for (let index = 0; index < COUNT; index += 1) {
    synced.mount.put(`many/${index}`, { a: `value ${index}` });
    const place = { 'kv-secret-path': `many/${index}`, direction: 'both' };
    await synced.tie({ a: `value ${index}` }, place, `mail-${index}`);
  }
  await synced.cycle();
  await synced.cycle();
  return synced;
}

async function requestsOf(synced: SyncedPlatform): Promise<string[]> {
  const { requests } = synced.server.store;
  const before = requests.length;
  await synced.cycle();
  return requests.slice(before).map(({ method, path }) => `${method} ${path}`);
}

describe('a cycle in which nothing changed', () => {
  test('asks for the mount and for the versions of a folder, where the store supports it', async () => {
    const synced = await many(true);
    const version = synced.platform.store.resourceVersion;

    expect(await requestsOf(synced)).toEqual([
      'GET /v1/sys/internal/ui/mounts/secret',
      'GET /v1/secret/detailed-metadata/many/?list=true&limit=1000',
    ]);
    // Nothing is written either.
    expect(synced.platform.store.resourceVersion).toBe(version);
    expect(synced.sync.report().counts).toMatchObject({ synced: COUNT });
  });

  test('asks for each secret once elsewhere, and for listings only now and then', async () => {
    const synced = await many(false);

    const asked = await requestsOf(synced);
    expect(asked).toHaveLength(COUNT + 1);
    expect(asked.filter((request) => request.includes('detailed-metadata'))).toEqual([]);
  });
});

describe('secrets at rest', () => {
  test.each<[string, (synced: SyncedPlatform) => unknown, object]>([
    ['a new version', ({ mount }) => mount.put('many/3', { a: 'new' }), { a: 'new' }],
    [
      'a key that was made anew with the same number',
      ({ mount }) => {
        mount.removeKey('many/3');
        mount.put('many/3', { a: 'anew' });
      },
      { a: 'anew' },
    ],
    ['a change in git', (synced) => synced.edit({ a: 'of git' }, 'mail-3'), { a: 'of git' }],
  ])('%s is seen', async (_what, change, expected) => {
    const synced = await many(true);
    await change(synced);
    await synced.cycle();

    expect(synced.data('mail-3')).toEqual(expected);
    expect(synced.mount.live('many/3')).toEqual(expected);
    expect(synced.conditions('mail-3')).toEqual(['Synced=True Synced']);
  });

  test.each<[string, (synced: SyncedPlatform) => unknown]>([
    ['a tombstone', ({ mount }) => mount.deleteLatest('many/3')],
    ['a removal for good', ({ mount }) => mount.removeKey('many/3')],
  ])('%s is seen', async (_what, remove) => {
    const synced = await many(true);
    remove(synced);
    await synced.cycle();
    await synced.cycle();

    expect(synced.conditions('mail-3')).toEqual(['Synced=False DeletedInStore']);
    expect(synced.data('mail-3')).toEqual({ a: 'value 3' });
  });

  test('another mount in the place of the old one is seen', async () => {
    const synced = await many(true);
    const old = synced.mount;
    const anew = synced.server.store.mount('secret/');
    for (const [path, key] of old.keys) anew.keys.set(path, key);
    await synced.cycle();

    expect(await requestsOf(synced)).not.toHaveLength(COUNT);
    expect(synced.conditions('mail-3')).toEqual(['Synced=True Synced']);
  });
});
