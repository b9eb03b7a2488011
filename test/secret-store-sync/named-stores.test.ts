/** Several secret stores by name, in one platform. */
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type KvServer, startKvServer } from '../support/kv-server.ts';
import {
  defaultConfig,
  openSynced,
  PATH,
  type SyncedPlatform,
  type SyncedSetup,
  secret,
} from './synced-platform.ts';

const STORE = 'gitplane.dev/secret-store';

async function newServer(): Promise<KvServer> {
  const server = await startKvServer();
  server.store.mount('secret/');
  onTestFinished(() => server.close());
  return server;
}

function mountOf(server: KvServer) {
  const mount = server.store.mounts.get('')?.get('secret/');
  if (mount === undefined) throw new Error('The store has no mount secret/');
  return mount;
}

function named(name: string, server: KvServer, more: object = {}): object {
  return { name, ...defaultConfig(server), ...more };
}

/** A platform with the default store and the store `eu`. */
async function two(setup: SyncedSetup = {}): Promise<{ synced: SyncedPlatform; eu: KvServer }> {
  const [server, eu] = [setup.server ?? (await newServer()), await newServer()];
  const config = defaultConfig(server);
  const synced = await openSynced({ ...setup, server, config, stores: [named('eu', eu)] });
  return { synced, eu };
}

/** The secret `mail` in this store; undefined: in the default one. */
async function moveTo(synced: SyncedPlatform, store: string | undefined): Promise<void> {
  await synced.change((object) => {
    const metadata = object['metadata'] as { annotations: Record<string, string> };
    if (store === undefined) delete metadata.annotations[STORE];
    else metadata.annotations[STORE] = store;
  });
}

/** A secret that is tied to this store. */
async function tieTo(
  synced: SyncedPlatform,
  store: string,
  { name = 'mail', ...annotations }: Readonly<Record<string, string>> = {},
): Promise<void> {
  const object = secret(name, {}, annotations) as {
    metadata: { annotations: Record<string, string> };
  };
  object.metadata.annotations[STORE] = store;
  await synced.platform.create('sharedsecrets', object, 'default');
}

async function metric({ metrics }: SyncedPlatform, line: string): Promise<string | undefined> {
  const text = await metrics.metrics();
  const found = text.split('\n').find((one) => one.startsWith(`gitplane_secret_sync_${line} `));
  return found?.slice(found.lastIndexOf(' ') + 1);
}

describe('a secret', () => {
  test('follows the store that its annotation names, and no other', async () => {
    const { synced, eu } = await two();
    synced.mount.put(PATH, { a: 'default' });
    mountOf(eu).put(PATH, { a: 'eu' });
    await tieTo(synced, 'eu');
    await synced.tie({}, {}, 'other');
    await synced.cycle();

    expect(synced.data()).toEqual({ a: 'eu' });
    expect(synced.data('other')).toEqual({ a: 'default' });
    expect(synced.message()).toContain('eu:secret/app/mail, version 1');
    expect(synced.message('other')).toContain('(secret/app/mail, version 1');
    expect(await metric(synced, 'objects{store="eu",state="synced"}')).toBe('1');
    expect(await metric(synced, 'keys_total{store="eu",direction="pull"}')).toBe('1');
    expect(synced.sync.report()).toMatchObject({
      name: 'default',
      counts: { synced: 2 },
      stores: [{ name: 'eu', state: 'available', address: eu.address, counts: { synced: 1 } }],
    });
  });

  test('is tied to the default store by its name as well', async () => {
    const { synced } = await two();
    synced.mount.put(PATH, { a: 'default' });
    await tieTo(synced, 'default');
    await synced.cycle();

    expect(synced.data()).toEqual({ a: 'default' });
  });

  test.each(['', 'EU', 'a/b', '../eu'])(
    'a secret that names the store %j is refused',
    async (store) => {
      const { synced } = await two();

      await expect(tieTo(synced, store)).rejects.toThrow(
        /metadata\.annotations\["gitplane\.dev\/secret-store"\]: Invalid value/,
      );
    },
  );

  test('a secret that names a store that is not configured reports it, until it is', async () => {
    const { synced, eu } = await two();
    await tieTo(synced, 'us');
    await vi.waitFor(() => expect(synced.conditions()).toEqual(['Synced=False StoreMissing']));
    expect(synced.message()).toContain('no secret store "us"; it has default, eu');
    expect(synced.sync.report().attention).toMatchObject([{ store: 'us', name: 'mail' }]);
    expect(await metric(synced, 'objects{store="",state="failed"}')).toBe('1');
    expect(synced.events.list().map(({ reason }) => reason)).toContain('StoreMissing');

    mountOf(eu).put(PATH, { a: '1' });
    await synced.configure(defaultConfig(synced.server), [named('us', eu)]);
    await synced.cycle();
    expect(synced.data()).toEqual({ a: '1' });
    expect(synced.conditions()).toEqual(['Synced=True Synced']);
    expect(await metric(synced, 'objects{store="",state="failed"}')).toBeUndefined();
    expect(synced.sync.report().attention).toEqual([]);

    const before = eu.seen.length;
    await synced.configure(defaultConfig(synced.server), []);
    await vi.waitFor(() => expect(synced.conditions()).toEqual(['Synced=False StoreMissing']));
    await synced.cycle();
    expect(eu.seen.length).toBe(before);
    expect(synced.data()).toEqual({ a: '1' });
  });

  test('a secret that loses its tie loses its condition', async () => {
    const { synced } = await two();
    await tieTo(synced, 'us');
    await vi.waitFor(() => expect(synced.conditions()).toEqual(['Synced=False StoreMissing']));
    await synced.change((object) => {
      object['metadata'] = { ...(object['metadata'] as object), annotations: {} };
    });

    await vi.waitFor(() => expect(synced.conditions()).toEqual([]));
  });
});

describe('a secret that moves to another store', () => {
  const BOTH = { direction: 'both' };

  test('takes no merge base along: values that differ are held, and nothing is written', async () => {
    const { synced, eu } = await two();
    synced.mount.put(PATH, { a: '1' });
    mountOf(eu).put(PATH, { a: 'old' });
    mountOf(eu).put(PATH, { a: 'of eu' });
    await synced.tie({}, BOTH);
    await synced.cycle();
    expect(synced.data()).toEqual({ a: '1' });

    await moveTo(synced, 'eu');
    await synced.cycle();
    await synced.cycle();
    expect(synced.conditions()).toEqual(['Synced=False AdoptionConflict']);
    expect(synced.data()).toEqual({ a: '1' });
    expect(mountOf(eu).live(PATH)).toEqual({ a: 'of eu' });
    expect([...synced.platform.store.documents('secret-store:')]).toEqual([]);
  });

  test('is pushed to a store that lacks it, and follows the former one no more', async () => {
    const { synced, eu } = await two();
    synced.mount.put(PATH, { a: '1' });
    await synced.tie({}, BOTH);
    await synced.cycle();
    await moveTo(synced, 'eu');
    await synced.cycle();
    expect(mountOf(eu).live(PATH)).toEqual({ a: '1' });

    synced.mount.put(PATH, { a: 'former' });
    await synced.edit({ a: '2' });
    await synced.cycle();
    expect(synced.data()).toEqual({ a: '2' });
    expect(mountOf(eu).live(PATH)).toEqual({ a: '2' });
    expect(synced.mount.live(PATH)).toEqual({ a: 'former' });
  });

  test('a secret that moves to another store and back starts without a history', async () => {
    const { synced, eu } = await two();
    synced.mount.put(PATH, { a: '1' });
    await synced.tie({}, BOTH);
    await synced.cycle();
    await moveTo(synced, 'eu');
    await synced.edit({ a: 'of git' });
    await synced.cycle();
    expect(mountOf(eu).live(PATH)).toEqual({ a: 'of git' });
    synced.mount.put(PATH, { a: 'meanwhile' });
    await moveTo(synced, undefined);
    await synced.cycle();

    expect(synced.conditions()).toEqual(['Synced=False AdoptionConflict']);
    expect(synced.mount.live(PATH)).toEqual({ a: 'meanwhile' });
    expect(synced.data()).toEqual({ a: 'of git' });
  });

  test('is deleted in neither store by that', async () => {
    const { synced, eu } = await two();
    synced.mount.put(PATH, { a: '1' });
    await synced.tie({}, { ...BOTH, 'deletion-in-git': 'soft-delete' });
    await synced.cycle();
    await moveTo(synced, 'eu');
    await synced.cycle();
    await synced.remove();
    for (let cycle = 0; cycle < 3; cycle += 1) await synced.cycle();

    expect(synced.mount.live(PATH)).toEqual({ a: '1' });
    expect(mountOf(eu).live(PATH)).toBeUndefined();
  });

  test('a secret that moves while the daemon is stopped is handled alike', async () => {
    const { synced, eu } = await two();
    synced.mount.put(PATH, { a: '1' });
    mountOf(eu).put(PATH, { a: 'of eu' });
    await synced.tie({}, { ...BOTH, 'deletion-in-git': 'soft-delete' });
    await synced.cycle();
    await synced.configure({ enabled: false }, []);
    await synced.cycle();
    await moveTo(synced, 'eu');
    const again = await synced.restart();
    await again.configure(defaultConfig(synced.server), [named('eu', eu)]);
    await again.cycle();

    expect(again.conditions()).toEqual(['Synced=False AdoptionConflict']);
    expect([...again.platform.store.documents('secret-store:')]).toEqual([]);
    expect(synced.mount.live(PATH)).toEqual({ a: '1' });
  });
});

describe('a store', () => {
  test.each<[string, (server: KvServer) => void, string]>([
    ['that never answers', ({ faults }) => faults.push(...Array(50).fill('hang')), 'none'],
    ['that is sealed', ({ store }) => void Object.assign(store, { isSealed: true }), 'Sealed'],
  ])('%s delays no other, and is reported by its name', async (_what, fail, reason) => {
    const { synced, eu } = await two();
    mountOf(eu).put(PATH, { a: '1' });
    await tieTo(synced, 'eu');
    await synced.cycle();
    fail(eu);
    void synced.cycle(false, 'eu');
    synced.mount.put('app/other', { a: '1' });
    await synced.tie({}, { 'kv-secret-path': 'app/other' }, 'other');
    await synced.cycle(false, 'default');
    synced.mount.put('app/other', { a: '2' });
    await synced.cycle(false, 'default');

    expect(synced.data('other')).toEqual({ a: '2' });
    expect(await metric(synced, 'store_available{store="default"}')).toBe('1');
    if (reason === 'none') return;
    await vi.waitFor(() => expect(synced.conditions()).toContain(`Stale=True ${reason}`));
    expect(synced.sync.report()).toMatchObject({
      state: 'available',
      stores: [{ name: 'eu', state: 'unavailable' }],
    });
    expect(await metric(synced, 'store_available{store="eu"}')).toBe('0');
    expect(synced.log.join()).toMatch(/"store":"eu".*does not answer/);
  });

  test('takes no token, address or authority of the environment, which is about the default one', async () => {
    const server = await newServer();
    server.store.token('of-env');
    const eu = await newServer();
    const environment = { BAO_ADDR: server.address, BAO_TOKEN: 'of-env', VAULT_TOKEN: 'of-env' };
    const synced = await openSynced({
      ...{ server, environment },
      config: { enabled: true, syncInterval: '1h' },
      stores: [
        named('eu', eu, { auth: { tokenSecretRef: { name: 'none', key: 'a', optional: true } } }),
      ],
    });
    await synced.tie({});
    await tieTo(synced, 'eu', { name: 'other' });
    await synced.cycle();

    expect(server.seen.map((headers) => headers['x-vault-token'])).toContain('of-env');
    expect(eu.seen.map((headers) => headers['x-vault-token'])).not.toContain('of-env');
    expect(synced.conditions('other')).toContain('Synced=False TokenMissing');
    expect(synced.told.at(-1)).toContain('Store "eu": ');
  });

  test('a store whose token is removed is reported beside the others, by name and field', async () => {
    const { synced, eu } = await two();
    const auth = { tokenSecretRef: { name: 'gone', key: 'token' } };
    await synced.configure(defaultConfig(synced.server), [named('eu', eu, { auth })]);
    await synced.cycle();

    expect(synced.told.at(-1)).toMatch(/^Store "eu": secretStores\[eu\]\.auth\.tokenSecretRef: /);
    expect(await metric(synced, 'store_in_force{store="eu"}')).toBe('0');
    expect(await metric(synced, 'store_in_force{store="default"}')).toBe('1');
    await synced.configure(defaultConfig(synced.server), []);
    await synced.cycle();
    expect(synced.told.at(-1)).toBeUndefined();
    expect(await metric(synced, 'store_in_force{store="eu"}')).toBeUndefined();
  });

  test('a store reads a credential file from credential folders alone', async () => {
    const { synced, eu } = await two();
    const auth = { tokenFile: '/etc/hostname' };
    await synced.configure(defaultConfig(synced.server), [named('eu', eu, { auth })]);
    await synced.cycle();

    expect(synced.told.at(-1)).toContain(
      'secretStores[eu].auth.tokenFile: /etc/hostname is in none',
    );
  });

  test('has deletions that were approved for that store alone', async () => {
    const { synced, eu } = await two();
    for (const [store, mount] of [
      ['default', synced.mount],
      ['eu', mountOf(eu)],
    ] as const) {
      for (let number = 0; number < 5; number += 1) {
        const place = { 'kv-secret-path': `many/${number}`, 'deletion-in-store': 'delete' };
        mount.put(`many/${number}`, { a: '1' });
        await tieTo(synced, store, { ...place, name: `${store}-${number}` });
      }
    }
    await synced.cycle();
    for (const mount of [synced.mount, mountOf(eu)]) {
      for (let number = 0; number < 5; number += 1) mount.removeKey(`many/${number}`);
    }
    for (let cycle = 0; cycle < 3; cycle += 1) await synced.cycle();
    expect(synced.conditions('default-0')).toEqual(['Synced=False MassDeletionBlocked']);
    await synced.cycle(true, 'eu');

    expect(synced.object('eu-0')).toBeUndefined();
    expect(synced.data('default-0')).toEqual({ a: '1' });
  });
});
