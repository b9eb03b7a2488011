/** Secrets with an interval of their own, beside those with that of the store. */
import { expect, test, vi } from 'vitest';
import { DueTimes } from '../../src/secret-store-sync/due-times.ts';
import { defaultConfig, openSynced, type SyncedPlatform } from './synced-platform.ts';

const NAMES = ['own', 'other'] as const;

/** Two pulled secrets, of which one has the interval. */
async function two(interval: string, syncInterval: string): Promise<SyncedPlatform> {
  const synced = await openSynced({ config: { enabled: false } });
  for (const name of NAMES) synced.mount.put(`app/${name}`, { a: '1' });
  await synced.tie({}, { 'kv-secret-path': 'app/own', 'sync-interval': interval }, 'own');
  await synced.tie({}, { 'kv-secret-path': 'app/other' }, 'other');
  await synced.configure({ ...defaultConfig(synced.server), syncInterval });
  await synced.cycle();
  for (const name of NAMES) expect(synced.data(name)).toEqual({ a: '1' });
  for (const name of NAMES) synced.mount.put(`app/${name}`, { a: '2' });
  return synced;
}

function reads({ server }: SyncedPlatform, name: string): number {
  return server.store.requests.filter(({ path }) => path.startsWith(`/v1/secret/data/app/${name}`))
    .length;
}

test('a shorter one is read between cycles, and the others are not', async () => {
  const synced = await two('1s', '1h');
  await vi.waitFor(() => expect(synced.data('own')).toEqual({ a: '2' }), 20_000);
  synced.mount.put('app/own', { a: '3' });
  await vi.waitFor(() => expect(synced.data('own')).toEqual({ a: '3' }), 20_000);

  expect(synced.data('other')).toEqual({ a: '1' });
});

test('a longer interval is left out of cycles, until a user asks for a cycle', async () => {
  const synced = await two('1h', '1s');
  const before = reads(synced, 'own');
  await vi.waitFor(() => expect(synced.data('other')).toEqual({ a: '2' }), 20_000);
  synced.mount.put('app/other', { a: '3' });
  await vi.waitFor(() => expect(synced.data('other')).toEqual({ a: '3' }), 20_000);
  expect(reads(synced, 'own')).toBe(before);
  expect(synced.sync.report().counts).toMatchObject({ synced: 2 });

  await synced.cycle();
  expect(synced.data('own')).toEqual({ a: '2' });
});

test('a longer one keeps no change of git waiting, and none of its own annotations', async () => {
  const synced = await two('1h', '1s');
  await synced.annotate({ direction: 'both', adopt: 'prefer-git' }, 'own');
  await vi.waitFor(() => expect(synced.data('own')).toEqual({ a: '2' }), 20_000);
  await synced.edit({ a: 'of git' }, 'own');
  await vi.waitFor(() => expect(synced.mount.live('app/own')).toEqual({ a: 'of git' }), 20_000);
  await synced.annotate({ 'sync-interval': '1s' }, 'own');
  synced.mount.put('app/own', { a: '4' });

  await vi.waitFor(() => expect(synced.data('own')).toEqual({ a: '4' }), 20_000);
});

test('a deletion in the store is not missed behind an interval of either length', async () => {
  for (const [interval, syncInterval] of [
    ['1s', '2s'],
    ['2s', '1s'],
  ] as const) {
    const synced = await two(interval, syncInterval);
    await synced.annotate({ 'deletion-in-store': 'delete' }, 'own');
    await synced.cycle();
    synced.mount.deleteLatest('app/own');

    await vi.waitFor(() => expect(synced.object('own')).toBeUndefined(), 20_000);
  }
});

test('a store that is away is left to the cycles, however short an interval is', async () => {
  const synced = await two('1s', '1h');
  await vi.waitFor(() => expect(synced.data('own')).toEqual({ a: '2' }), 20_000);
  synced.server.store.isSealed = true;
  await vi.waitFor(() => expect(synced.conditions('own')).toContain('Stale=True Sealed'), 20_000);
  const early = vi.spyOn(DueTimes.prototype, 'early');
  await synced.cycle();
  // Time for whatever would be due at once.
  for (let turn = 0; turn < 5; turn += 1) await fetch(`${synced.server.address}/v1/sys/health`);

  expect(early).not.toHaveBeenCalled();
});
