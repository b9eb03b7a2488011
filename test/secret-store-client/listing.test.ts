/** Lists of a store whose items are null, nameless or of another type. */
import { describe, expect, test } from 'vitest';
import { StoreClient } from '../../src/secret-store-client/client.ts';
import { listFolder, listVersions } from '../../src/secret-store-client/listing.ts';

const MOUNT = { path: 'secret/', version: 2 } as const;
const WRONG = { reason: 'WrongEngine', message: 'A list of keys was answered without names' };

/** A client of a store that answers every list so, and lists of versions as well if `versions` is there. */
function clientOf(lists: { readonly plain?: unknown; readonly versions?: unknown }): StoreClient {
  return new StoreClient({
    transport: {
      origin: 'http://store',
      close: () => undefined,
      send: async ({ path }) => {
        const body = path.includes('detailed-metadata/') ? lists.versions : lists.plain;
        return { status: body === undefined ? 404 : 200, headers: {}, text: JSON.stringify(body) };
      },
    },
    token: async () => 'root',
    clock: { now: () => 0 },
    intervalMs: 60_000,
    random: () => 0,
  });
}

describe('a plain list', () => {
  test.each<[string, unknown]>([
    ['null', [null]],
    ['null beside a name', ['a', null, 'b/']],
    ['a number', [7]],
    ['a list', [['a']]],
    ['an object without a name', [{}]],
    ['a text in place of a list', 'a'],
    ['an object in place of a list', { a: null }],
  ])('names with %s are an error of the store', async (_title, keys) => {
    const client = clientOf({
      plain: { data: { keys } },
      versions: { data: { keys, key_info: {} } },
    });

    await expect(
      listFolder(client, MOUNT, { folder: 'f', isDetailed: false }),
    ).rejects.toMatchObject(WRONG);
    await expect(listVersions(client, MOUNT, 'f')).resolves.toBeUndefined();
  });

  test.each<[string, object]>([
    ['no data', {}],
    ['data of null', { data: null }],
    ['data without names', { data: {} }],
    ['names of null', { data: { keys: null } }],
  ])('names with %s are an empty folder', async (_title, plain) => {
    const folder = await listFolder(clientOf({ plain }), MOUNT, { folder: 'f', isDetailed: false });

    expect(folder).toEqual({ keys: [], folders: [], isDetailed: false });
  });
});

describe('a list of versions', () => {
  const good = { current_version: 2, versions: { 2: { created_time: '2026-01-02T03:04:05Z' } } };

  test.each<[string, unknown]>([
    ['null', null],
    ['no version', {}],
    ['versions of null', { current_version: 1, versions: null }],
    ['a version of null', { current_version: 1, versions: { 1: null } }],
    ['a current version of null', { current_version: null, versions: { 1: {} } }],
    ['a time that is a number', { current_version: 1, versions: { 1: { created_time: 7 } } }],
  ])('leaves out a key with %s, and has the others', async (_title, info) => {
    const keys = ['bad', 'good', 'deep/'];
    const client = clientOf({ versions: { data: { keys, key_info: { bad: info, good } } } });

    expect([...((await listVersions(client, MOUNT, 'f')) ?? [])]).toEqual([
      ['good', { version: 2, createdTime: '2026-01-02T03:04:05.000000000Z' }],
    ]);
    expect(await listFolder(client, MOUNT, { folder: 'f', isDetailed: true })).toEqual({
      ...{ keys: ['good'], folders: ['deep'], isDetailed: true },
    });
  });

  test.each<[string, unknown]>([
    ['null', null],
    ['absent', undefined],
  ])('versions that are %s leave the names to the plain list', async (_title, key_info) => {
    const plain = { data: { keys: ['a'] } };
    const client = clientOf({ plain, versions: { data: { keys: ['a'], key_info } } });

    expect(await listVersions(client, MOUNT, 'f')).toBeUndefined();
    expect(await listFolder(client, MOUNT, { folder: 'f', isDetailed: true })).toEqual({
      ...{ keys: ['a'], folders: [], isDetailed: false },
    });
  });
});
