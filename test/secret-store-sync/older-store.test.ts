/** A store that was restored from an older copy: reported with both versions, settled by a decision. */
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { KvStore } from '../support/kv/kv-store.ts';
import { startKvServer } from '../support/kv-server.ts';
import { defaultConfig, openSynced, PATH } from './synced-platform.ts';

describe('a store that was put back to an older copy', () => {
  async function putBack(config: object = {}, annotations: Record<string, string> = {}) {
    const server = await startKvServer();
    onTestFinished(() => server.close());
    server.store.mount('secret/');
    const synced = await openSynced({ server, config: { ...defaultConfig(server), ...config } });
    for (const password of ['one', 'two', 'three', 'four']) synced.mount.put(PATH, { password });
    await synced.tie({ password: 'four' }, { direction: 'both', ...annotations });
    await synced.cycle();
    expect(synced.message()).toContain('version 4');
    synced.mount.restore(PATH, 2);
    for (let cycle = 0; cycle < 3; cycle += 1) await synced.cycle();
    return synced;
  }

  test('is reported with both versions, in a condition, an event and the log, also after a restart', async () => {
    const before = await putBack();
    expect(before.conditions()).toEqual(['Synced=False StoreOlder']);
    const synced = await before.restart();
    await synced.edit({ password: 'five' });
    await synced.cycle();

    expect(synced.conditions()).toEqual(['Synced=False StoreOlder']);
    expect(synced.message()).toMatch(/version 2, after version 4\): password\. .*store@2/);
    expect(synced.mount.live(PATH)).toEqual({ password: 'two' });
    expect(synced.data()).toEqual({ password: 'five' });
    expect(synced.log.join('\n')).toContain('StoreOlder');
    expect(synced.events.list().map(({ reason }) => reason)).toContain('StoreOlder');
    expect(synced.sync.report().counts).toMatchObject({ held: 1, synced: 0 });
  });

  const GIT = { conditions: ['Synced=True Synced'], password: 'four', version: 3 };
  const STORE = { conditions: ['Synced=True Synced'], password: 'two', version: 2 };
  const HELD = { conditions: ['Synced=False StoreOlder'], password: undefined, version: 2 };

  test.each([
    ['PreferGit', {}, GIT],
    ['PreferStore', {}, STORE],
    ['Hold', {}, HELD],
    [undefined, {}, HELD],
    ['Hold', { 'store-older': 'prefer-git' }, GIT],
    [undefined, { 'store-older': 'prefer-store' }, STORE],
    ['PreferStore', { 'store-older': 'hold' }, HELD],
    ['PreferStore', { 'store-older': 'prefer-git' }, GIT],
  ])(
    'an older copy of the store is settled by onStoreOlder %s and %j',
    async (policy, annotations, expected) => {
      const synced = await putBack({ onStoreOlder: policy }, annotations);
      const { conditions, password = 'two', version } = expected;

      expect(synced.conditions()).toEqual(conditions);
      expect(synced.mount.live(PATH)).toEqual({ password });
      expect(synced.mount.keys.get(PATH)?.current).toBe(version);
      expect(synced.data()).toEqual({ password: expected.password ?? 'four' });
    },
  );

  test('takes a policy that comes later, for what is held', async () => {
    const synced = await putBack();
    await synced.configure({ ...defaultConfig(synced.server), onStoreOlder: 'PreferGit' });
    await synced.cycle();

    expect(synced.conditions()).toEqual(['Synced=True Synced']);
    expect(synced.mount.live(PATH)).toEqual({ password: 'four' });
  });

  test.each(['PreferGit', 'PreferStore'])(
    'a standby that lags is not an older copy, with %s',
    async (policy) => {
      const lag = { of: 0 };
      const server = await startKvServer({ store: new KvStore({ lag: () => lag.of }) });
      onTestFinished(() => server.close());
      server.store.mount('secret/');
      server.store.isStandby = true;
      const config = { ...defaultConfig(server), onStoreOlder: policy };
      const synced = await openSynced({ server, config });
      for (const password of ['one', 'two']) synced.mount.put(PATH, { password });
      await synced.tie({ password: 'two' }, { direction: 'both' });
      await synced.cycle();
      synced.mount.listsVersions = false;
      lag.of = 1;
      for (let cycle = 0; cycle < 6; cycle += 1) await synced.cycle();

      expect(synced.conditions()).toEqual(['Synced=False StoreLags']);
      expect(synced.data()).toEqual({ password: 'two' });
      expect(synced.mount.live(PATH)).toEqual({ password: 'two' });
    },
  );

  test.each([
    ['git', 'four', 3],
    ['store', 'two', 2],
  ])('is settled by a decision for %s', async (winner, password, version) => {
    const synced = await putBack();
    const [decision = ''] = new RegExp(`${winner}@[0-9a-f]+`).exec(synced.message()) ?? [];
    await synced.annotate({ resolve: decision });
    await synced.cycle();

    expect(synced.conditions()).toEqual(['Synced=True Synced']);
    expect(synced.message()).toContain(`version ${version})`);
    expect(synced.data()).toEqual({ password });
    expect(synced.mount.live(PATH)).toEqual({ password });
    await synced.edit({ password: 'later' });
    await vi.waitFor(() => expect(synced.mount.live(PATH)).toEqual({ password: 'later' }), 10_000);
  });
});
