/** A daemon that ends at any moment, and the next one on what it left behind. */

import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { StatusError } from '../../src/apimachinery/status-error.ts';
import { secretStoreBlocks } from '../../src/config/secret-stores.ts';
import type { History } from '../../src/history/history.ts';
import type { Transport } from '../../src/secret-store-client/transport.ts';
import type { KvMount } from '../support/kv/kv-mount.ts';
import { KvStore } from '../support/kv/kv-store.ts';
import { startKvServer } from '../support/kv-server.ts';
import { openSynced, PATH, type SyncedPlatform } from './synced-platform.ts';

const BOTH = { direction: 'both' };

async function agreed(): Promise<SyncedPlatform> {
  const synced = await openSynced();
  synced.mount.put(PATH, { user: 'ann', password: 'one' });
  await synced.tie({ user: 'ann', password: 'one' }, BOTH);
  await synced.cycle();
  return synced;
}

test('the last agreement is known after a restart', async () => {
  let synced = await agreed();
  await synced.platform.store.flush();
  synced = await synced.restart();
  synced.mount.put(PATH, { user: 'ann', password: 'two' });
  await synced.cycle();

  expect(synced.data()).toEqual({ user: 'ann', password: 'two' });
});

test('changes of both sides while nothing ran are merged', async () => {
  let synced = await agreed();
  synced = await synced.restart({ options: { stores: () => secretStoreBlocks({}) } });
  await synced.edit({ user: 'bob', password: 'one' });
  synced.mount.put(PATH, { user: 'ann', password: 'two' });
  synced = await synced.restart({ options: {} });
  await synced.cycle();

  expect(synced.data()).toEqual({ user: 'bob', password: 'two' });
  expect(synced.mount.live(PATH)).toEqual({ user: 'bob', password: 'two' });
});

test.each([
  [
    'untied',
    {
      'kv-mount-path': undefined,
      'kv-secret-path': undefined,
      direction: undefined,
      'deletion-in-git': undefined,
    },
  ],
  ['tied elsewhere', { 'kv-secret-path': 'app/elsewhere' }],
])(
  'a secret that was %s while nothing ran deletes nothing where it was',
  async (_how, annotations) => {
    let synced = await openSynced();
    synced.mount.put(PATH, { user: 'ann' });
    await synced.tie({ user: 'ann' }, { ...BOTH, 'deletion-in-git': 'soft-delete' });
    await synced.cycle();
    synced = await synced.restart({ options: { stores: () => secretStoreBlocks({}) } });
    await synced.annotate(annotations);
    synced = await synced.restart({ options: {} });
    await synced.cycle();
    await synced.remove();
    await synced.cycle();

    expect(synced.mount.live(PATH)).toEqual({ user: 'ann' });
  },
);

test('the marker in the store restores the agreement without the state', async () => {
  let synced = await agreed();
  await synced.edit({ user: 'ann', password: 'two' });
  await synced.cycle();
  expect(synced.mount.live(PATH)).toEqual({ user: 'ann', password: 'two' });
  synced.mount.put(PATH, { user: 'ann', password: 'three' });
  synced = await synced.restart({ disk: new Map() });
  await synced.cycle();

  expect(synced.data()).toEqual({ user: 'ann', password: 'three' });
  expect(synced.conditions()).toEqual(['Synced=True Synced']);
});

describe('a daemon that ends', () => {
  /** After how many requests of the cycle that pushes; the store has done the last one, or not. */
  const moments = [0, 1, 2, 3, 4, 5].flatMap((after) =>
    (['cut-before', 'cut-after'] as const).map((fault) => ({ after, fault })),
  );

  test.each(moments)('resumes a push after request $after, $fault', async ({ after, fault }) => {
    let synced = await agreed();
    const first = synced.mount.keys.get(PATH)?.current ?? 0;
    const { faults } = synced.server;
    faults.push(...Array<undefined>(after).fill(undefined), ...Array(30).fill(fault));
    await synced.edit({ user: 'ann', password: 'two' });
    await synced.cycle();
    synced = await synced.restart();
    faults.splice(0);
    await settle(synced);

    expect(synced.mount.live(PATH)).toEqual({ user: 'ann', password: 'two' });
    expect(synced.data()).toEqual({ user: 'ann', password: 'two' });
    expect(synced.conditions()).toEqual(['Synced=True Synced']);
    // A push that landed is not made again.
    expect(versions(synced.mount)).toBe(first + 1);
  });

  test.each(moments)('resumes a pull after request $after, $fault', async ({ after, fault }) => {
    let synced = await agreed();
    const { faults } = synced.server;
    synced.mount.put(PATH, { user: 'ann', password: 'two' });
    faults.push(...Array<undefined>(after).fill(undefined), ...Array(30).fill(fault));
    await synced.cycle();
    synced = await synced.restart();
    faults.splice(0);
    await settle(synced);

    expect(synced.data()).toEqual({ user: 'ann', password: 'two' });
    expect(synced.mount.live(PATH)).toEqual({ user: 'ann', password: 'two' });
  });

  async function settle(synced: SyncedPlatform): Promise<void> {
    await vi.waitFor(async () => {
      await synced.cycle();
      expect(synced.conditions()).toEqual(['Synced=True Synced']);
    }, 20_000);
  }

  function versions(mount: KvMount): number {
    return mount.keys.get(PATH)?.current ?? 0;
  }
});

/** A push landed unseen, git changed again, and what was remembered of the push is lost. */
describe('a value that nothing but the history of git explains', () => {
  const unreadable = { find: () => Promise.reject(new Error('git: no such process')) };

  async function unexplained(of: Pick<History, 'find'> | undefined): Promise<SyncedPlatform> {
    let synced = await agreed();
    await synced.edit({ user: 'ann', password: 'two' });
    await synced.platform.store.flush();
    synced.server.faults.push(...Array(30).fill('cut-before'));
    await synced.cycle();
    synced = await synced.restart({ options: { stores: () => secretStoreBlocks({}) } });
    synced.server.faults.splice(0);
    synced.mount.put(PATH, { user: 'ann', password: 'two' });
    await synced.edit({ user: 'ann', password: 'three' });
    return await synced.restart({ options: of ? { history: of as History } : {} });
  }

  test('is pushed over where the history is read', async () => {
    const synced = await unexplained(undefined);
    await synced.cycle();

    expect(synced.conditions()).toEqual(['Synced=True Synced']);
    expect(synced.mount.live(PATH)).toEqual({ user: 'ann', password: 'three' });
  });

  test('is not a conflict while the history cannot be read, and is pushed over afterwards', async () => {
    let synced = await unexplained(unreadable);
    await synced.cycle();

    expect(synced.sync.report().counts).toMatchObject({ waiting: 1, held: 0 });
    expect(synced.log.join('\n')).toMatch(/no such process.*history of a secret cannot be read/);
    for (let cycle = 0; cycle < 2; cycle += 1) await synced.cycle();
    expect(synced.conditions()).toEqual(['Synced=False HistoryUnknown']);
    expect(synced.message()).toMatch(/password\. Decide with .*git@[0-9a-f]{40}/);
    synced = await synced.restart({ options: {} });
    await synced.cycle();

    expect(synced.conditions()).toEqual(['Synced=True Synced']);
    expect(synced.mount.live(PATH)).toEqual({ user: 'ann', password: 'three' });
  });

  test('is held when the commit that was agreed on is not in the history any more', async () => {
    const synced = await unexplained({
      find: () => Promise.reject(new StatusError(404, 'NotFound', 'the branch has no commit')),
    });
    for (let cycle = 0; cycle < 3; cycle += 1) await synced.cycle();

    expect(synced.conditions()).toEqual(['Synced=False HistoryUnknown']);
    const [decision = ''] = /git@[0-9a-f]+/.exec(synced.message()) ?? [];
    await synced.annotate({ resolve: decision });
    await synced.cycle();
    expect(synced.conditions()).toEqual(['Synced=True Synced']);
    expect(synced.mount.live(PATH)).toEqual({ user: 'ann', password: 'three' });
  });
});

test('a stop in the middle of a cycle waits for the secrets in hand and begins no other', async () => {
  const store = new KvStore();
  store.mount('secret/');
  const server = await startKvServer({ store });
  onTestFinished(() => server.close());
  let stopsFrom = Number.POSITIVE_INFINITY;
  let stopped: Promise<void> | undefined;
  const transport = (origin: string): Transport => ({
    origin,
    close: () => {},
    send: async (request) => {
      if (store.requests.length >= stopsFrom) stopped ??= synced.sync.close();
      return store.handle(request);
    },
  });
  const synced = await openSynced({ server, options: { transport } });
  for (let index = 0; index < 60; index += 1) {
    await synced.tie({}, { 'kv-secret-path': `many/${index}` }, `mail-${index}`);
  }
  // Cycles that follow the changes of git find nothing in the store yet.
  await synced.cycle();
  for (let index = 0; index < 60; index += 1) synced.mount.put(`many/${index}`, { a: 'x' });
  const first = store.requests.length;
  stopsFrom = first + 4;
  await synced.cycle();
  expect(stopped).toBeDefined();
  await stopped;

  expect(store.requests.length - first).toBeLessThan(80);
  const pulled = synced.platform
    .names('sharedsecrets')
    .filter((name) => synced.data(name)?.['a'] === 'x');
  expect(pulled.length).toBeLessThan(60);
});

test('writes that wait for review are left alone', async () => {
  const synced = await openSynced({ isReviewed: true });
  synced.mount.put(PATH, { a: '1' });
  await synced.tie({}, BOTH);
  await synced.cycle();

  expect(synced.conditions()).toEqual(['Synced=False ReviewOnly']);
  expect(synced.mount.live(PATH)).toEqual({ a: '1' });
  expect(synced.data()).toEqual({});
});
