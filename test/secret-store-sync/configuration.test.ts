/** The store as it is configured: read, changed while it runs, wrong, and never told to anybody. */
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { systemClock } from '../../src/apimachinery/clock.ts';
import { Keyring, makeIdentity } from '../../src/sealing/data-keys.ts';
import { formatSopsConfig } from '../../src/sealing/sops-config.ts';
import { readStoreSettings } from '../../src/secret-store-sync/settings.ts';
import { ensureServerCertificate } from '../../src/tls/server-certificate.ts';
import { git, temporaryFolder } from '../support/git.ts';
import { KvStore } from '../support/kv/kv-store.ts';
import { startKvServer } from '../support/kv-server.ts';
import { defaultConfig, openSynced, PATH, type SyncedPlatform } from './synced-platform.ts';

describe('settings', () => {
  const ADDRESS = 'https://store.example.com:8200';
  const NOTHING = { home: 'secretStore', fileText: () => '', secretText: () => undefined };

  // covers: secretStore.{enabled,address,namespace,syncInterval} secretStore.auth.token
  // covers: secretStore.auth.tokenSecretRef.{name,key,optional}
  test.each([
    ['nothing', undefined, undefined],
    ['a store that is not enabled', { address: ADDRESS, syncInterval: '1m' }, undefined],
    ['no interval', { enabled: true, address: ADDRESS, syncInterval: '' }, { intervalMs: 60_000 }],
    [
      'an interval',
      { enabled: true, address: ADDRESS, syncInterval: '90s' },
      { intervalMs: 90_000 },
    ],
    [
      'far too short an interval',
      { enabled: true, address: ADDRESS, syncInterval: '1ms' },
      { intervalMs: 1000 },
    ],
    [
      'no address',
      { enabled: true, syncInterval: '1m' },
      { address: 'http://bao', namespace: 'team' },
    ],
    [
      'an address',
      { enabled: true, address: `${ADDRESS}/`, syncInterval: '1m' },
      { address: ADDRESS, namespace: '' },
    ],
    [
      'a namespace',
      { enabled: true, namespace: '/a/b/', syncInterval: '1m' },
      { namespace: 'a/b' },
    ],
  ])('settings are read with %s', (_what, written, expected) => {
    const environment = {
      BAO_ADDR: 'http://bao',
      VAULT_ADDR: 'http://vault',
      BAO_NAMESPACE: 'team',
    };
    const settings = readStoreSettings(written, { environment, ...NOTHING });

    if (expected === undefined) expect(settings).toBeUndefined();
    else expect(settings).toMatchObject(expected);
  });

  test('settings without an address cause an error that names its places', () => {
    expect(() =>
      readStoreSettings({ enabled: true, syncInterval: '1m' }, { environment: {}, ...NOTHING }),
    ).toThrow('secretStore.address is empty, and so are BAO_ADDR and VAULT_ADDR');
  });
});

describe('a token', () => {
  test('is taken from a secret, and a new one from its creation on', async () => {
    const synced = await openSynced({ config: { enabled: false } });
    synced.server.store.token('first');
    await synced.platform.create(
      'sharedsecrets',
      { metadata: { name: 'token' }, spec: { data: { it: base64('first\n') } } },
      'default',
    );
    const auth = { tokenSecretRef: { name: 'token', key: 'it' } };
    await synced.configure({ ...defaultConfig(synced.server), auth });
    synced.mount.put(PATH, { a: '1' });
    await synced.tie({});
    await synced.cycle();
    expect(synced.data()).toEqual({ a: '1' });

    synced.server.store.token('second');
    await synced.edit({ it: 'second' }, 'token');
    synced.server.store.tokens.delete('first');
    synced.mount.put(PATH, { a: '2' });
    await synced.cycle();
    expect(synced.data()).toEqual({ a: '2' });
    expect(lastTokens(synced)).toBe('second');
  });

  test('a token that the store does not know is the only one used, and is reported', async () => {
    const synced = await openSynced();
    synced.mount.put(PATH, { a: '1' });
    await synced.tie({});
    await synced.cycle();
    await synced.configure({ ...defaultConfig(synced.server), auth: { token: 'mistyped' } });
    synced.mount.put(PATH, { a: '2' });
    const before = synced.server.seen.length;
    await synced.cycle();

    expect(synced.data()).toEqual({ a: '1' });
    expect(tokensSince(synced, before)).toEqual(['mistyped']);
    expect(synced.conditions()).toEqual(['Synced=False TokenInvalid', 'Stale=True TokenInvalid']);
    expect(synced.told.at(-1)).toContain('does not know the token');
    expect(JSON.stringify(synced.sync.report())).not.toContain('mistyped');

    synced.server.store.token('mistyped');
    await synced.cycle();
    expect(synced.data()).toEqual({ a: '2' });
    expect(synced.conditions()).toEqual(['Synced=True Synced']);
    expect(synced.told.at(-1)).toBeUndefined();
  });

  test.each([
    ['whose secret is deleted', async (synced: SyncedPlatform) => synced.remove('token')],
    ['whose key is removed', async (synced: SyncedPlatform) => synced.edit({}, 'token')],
    [
      'that another name refers to, which is not there',
      async (synced: SyncedPlatform) => {
        const auth = { tokenSecretRef: { name: 'other', key: 'it', optional: false } };
        await synced.configure({ ...defaultConfig(synced.server), auth });
      },
    ],
    [
      'of a namespace that is not there',
      async (synced: SyncedPlatform) => {
        const auth = { tokenSecretRef: { name: 'token', key: 'it' } };
        await synced.configure({ ...defaultConfig(synced.server), auth, namespace: 'other' });
      },
    ],
  ])('%s is not used again, neither to read nor to write', async (what, takeAway) => {
    const synced = await openSynced({ config: { enabled: false } });
    await synced.platform.create(
      'sharedsecrets',
      { metadata: { name: 'token' }, spec: { data: { it: base64('root') } } },
      'default',
    );
    const auth = { tokenSecretRef: { name: 'token', key: 'it' } };
    await synced.configure({ ...defaultConfig(synced.server), auth });
    await synced.tie({ a: '1' }, { direction: 'both' });
    await synced.cycle();
    expect(synced.conditions()).toEqual(['Synced=True Synced']);

    await takeAway(synced);
    const before = synced.server.seen.length;
    await synced.edit({ a: '2' });
    await synced.cycle();
    await synced.cycle();

    expect(synced.mount.live(PATH)).toEqual({ a: '1' });
    const isOfToken = !what.includes('namespace');
    if (isOfToken) expect(tokensSince(synced, before)).toEqual([]);
    const reason = isOfToken ? 'TokenMissing' : 'NamespaceMissing';
    expect(synced.conditions()).toEqual([`Synced=False ${reason}`, `Stale=True ${reason}`]);
    expect(synced.told.at(-1)).toContain(isOfToken ? 'has no key "it"' : 'no namespace other');
    expect(await metric(synced, 'store_in_force')).toBe('0');
  });

  test('a restored token is used at once, and the sync resumes', async () => {
    const synced = await openSynced({ config: { enabled: false } });
    const auth = { tokenSecretRef: { name: 'token', key: 'it' } };
    await synced.configure({ ...defaultConfig(synced.server), auth });
    await synced.tie({ a: '1' }, { direction: 'both' });
    await synced.cycle();
    expect(await metric(synced, 'store_in_force')).toBe('0');
    await synced.platform.create(
      'sharedsecrets',
      { metadata: { name: 'token' }, spec: { data: { it: base64('root') } } },
      'default',
    );
    await synced.cycle();

    expect(synced.conditions()).toEqual(['Synced=True Synced']);
    expect(synced.told.at(-1)).toBeUndefined();
    expect(await metric(synced, 'store_in_force')).toBe('1');
  });

  test('a token that is replaced during a cycle is in no later request', async () => {
    const store = new KvStore();
    const mount = store.mount('secret/');
    store.token('root');
    store.token('next');
    const used: (string | undefined)[] = [];
    let replace: (() => Promise<void>) | undefined;
    let isReplaced = false;
    const synced = await openSynced({
      options: {
        transport: () => ({
          origin: 'http://store',
          close: () => {},
          send: async (request) => {
            if (isReplaced) used.push(request.headers['x-vault-token']);
            const answer = store.handle(request);
            if (request.path.includes('/data/')) await replace?.();
            return answer;
          },
        }),
      },
    });
    await synced.cycle();
    replace = async () => {
      replace = undefined;
      await synced.configure({ ...defaultConfig(synced.server), auth: { token: 'next' } });
      isReplaced = true;
    };
    for (let i = 0; i < 20; i += 1) {
      const annotations = { direction: 'push', 'kv-secret-path': `app/${i}` };
      await synced.tie({ a: '1' }, annotations, `mail-${i}`);
    }
    await synced.cycle();
    await synced.cycle();

    expect(isReplaced).toBe(true);
    expect(new Set(used)).toEqual(new Set(['next']));
    for (let i = 0; i < 20; i += 1) expect(mount.live(`app/${i}`)).toEqual({ a: '1' });
  });

  test('a repaired token is used at once, after any number of failures', async () => {
    const synced = await openSynced({ config: { enabled: false } });
    const wrong = { ...defaultConfig(synced.server), auth: { token: 'dead' } };
    await synced.configure(wrong);
    synced.mount.put(PATH, { a: '1' });
    await synced.tie({});
    for (let cycle = 0; cycle < 5; cycle += 1) await synced.cycle();
    expect(synced.conditions()).toEqual(['Synced=False TokenInvalid', 'Stale=True TokenInvalid']);
    await synced.configure(defaultConfig(synced.server));
    await synced.cycle();

    expect(synced.conditions()).toEqual(['Synced=True Synced']);
    expect(synced.data()).toEqual({ a: '1' });
  });

  test('a token that is missing is reported with the place where it should be', async () => {
    const synced = await openSynced({ config: { enabled: false } });
    const auth = { tokenSecretRef: { name: 'token', key: 'it' } };
    await synced.configure({ ...defaultConfig(synced.server), auth });
    await synced.tie({});
    await synced.cycle();

    expect(synced.conditions()).toEqual(['Synced=False TokenMissing', 'Stale=True TokenMissing']);
    expect(synced.sync.report().problem).toContain('SharedSecret "default/token" has no key "it"');
  });

  test('comes from the environment where a reference is optional', async () => {
    const synced = await openSynced({
      environment: { VAULT_TOKEN: 'root' },
      config: { enabled: false },
    });
    const auth = { tokenSecretRef: { name: 'token', key: 'it', optional: true } };
    await synced.configure({ ...defaultConfig(synced.server), auth });
    await synced.tie({}, {});
    synced.mount.put(PATH, { a: '1' });
    await synced.cycle();

    expect(synced.data()).toEqual({ a: '1' });
  });

  function tokensSince({ server }: SyncedPlatform, before: number): unknown[] {
    return [...new Set(server.seen.slice(before).map((headers) => headers['x-vault-token']))];
  }

  function lastTokens({ server }: SyncedPlatform): unknown {
    return server.seen.at(-1)?.['x-vault-token'];
  }
});

describe('a change of the configuration', () => {
  test('a change to another store ends the use of the old one, also while the new one does not answer', async () => {
    const synced = await openSynced();
    await synced.tie({ a: '1' }, { direction: 'both' });
    await synced.cycle();
    expect(synced.mount.live(PATH)).toEqual({ a: '1' });
    const other = await startKvServer();
    await other.close();
    await synced.configure({ ...defaultConfig(synced.server), address: other.address });
    const before = synced.server.seen.length;
    await synced.edit({ a: '2' });
    await synced.cycle();
    await synced.cycle();

    expect(synced.server.seen).toHaveLength(before);
    expect(synced.mount.live(PATH)).toEqual({ a: '1' });
    expect(synced.conditions()).toEqual(['Synced=False Unreachable', 'Stale=True Unreachable']);
    expect(synced.told.at(-1)).toContain(other.address);
    expect(await metric(synced, 'store_in_force')).toBe('0');
    expect(synced.sync.report()).toMatchObject({ state: 'unavailable', address: other.address });

    const third = await startKvServer();
    onTestFinished(() => third.close());
    third.store.mount('secret/').put(PATH, { a: 'elsewhere' });
    await synced.configure({ ...defaultConfig(synced.server), address: third.address });
    await synced.cycle();
    expect(synced.sync.report()).toMatchObject({ address: third.address, problem: undefined });
    expect(synced.told.at(-1)).toBeUndefined();
    expect(await metric(synced, 'store_in_force')).toBe('1');
    // Another store is no newer version of the same one.
    expect(synced.conditions()).toEqual(['Synced=False AdoptionConflict']);
  });

  test('a change that ends the sync stops all requests to the store, and the status reports it', async () => {
    const synced = await openSynced();
    await synced.tie({}, {});
    await synced.cycle();
    await synced.configure({ ...defaultConfig(synced.server), enabled: false });
    await synced.cycle();
    const asked = synced.server.store.requests.length;
    await synced.cycle();

    expect(synced.server.store.requests).toHaveLength(asked);
    expect(synced.conditions()).toEqual(['Synced=Unknown Disabled']);
    expect(synced.sync.report().state).toBe('disabled');
  });

  test('a change of the configuration that removes the address ends the use of the store', async () => {
    const synced = await openSynced();
    await synced.tie({}, {});
    await synced.cycle();
    await synced.configure({ ...defaultConfig(synced.server), address: '' });
    const before = synced.server.seen.length;
    await synced.cycle();

    expect(synced.sync.report()).toMatchObject({
      state: 'unavailable',
      problem: expect.stringContaining('secretStore.address is empty') as string,
    });
    expect(synced.server.seen).toHaveLength(before);
    expect(synced.conditions()).toEqual([
      'Synced=False AddressInvalid',
      'Stale=True AddressInvalid',
    ]);
    expect(synced.told.at(-1)).toContain('secretStore.address is empty');
  });

  test('a change that names an unset variable ends the use of the store, and each secret reports it', async () => {
    let missing: string | undefined;
    const synced = await openSynced({ missing: () => missing });
    await synced.tie({ a: '1' }, { direction: 'both' });
    await synced.cycle();
    missing = 'secretStore.auth.token (1:1) names $UNSET, which is not in the environment';
    synced.sync.configurationChanged();
    await synced.edit({ a: '2' });
    await synced.cycle();

    expect(synced.mount.live(PATH)).toEqual({ a: '1' });
    expect(synced.conditions()).toEqual([
      'Synced=False VariableMissing',
      'Stale=True VariableMissing',
    ]);
    expect(synced.message()).toContain('names $UNSET');
    expect(synced.told).toEqual([missing]);
    expect(await metric(synced, 'store_in_force')).toBe('0');
  });

  test('an outage of the configured store is not reported as a mistake of the configuration', async () => {
    const synced = await openSynced();
    await synced.tie({ a: '1' }, { direction: 'both' });
    await synced.cycle();
    synced.server.store.isSealed = true;
    await synced.edit({ a: '2' });
    await synced.cycle();

    expect(synced.conditions()).toEqual(['Synced=True Synced', 'Stale=True Sealed']);
    expect(synced.told).toEqual([]);
    expect(await metric(synced, 'store_in_force')).toBe('1');
  });
});

// covers: secretStore.skipTLSVerify
test('a store with an untrusted certificate is used only where the check is skipped, and the log warns', async () => {
  const directory = join(temporaryFolder(), 'tls');
  const { certificatePem: cert, keyPem: key } = await ensureServerCertificate({
    directory,
    hostnames: [],
    clock: systemClock,
  });
  const server = await startKvServer({ tls: { cert, key } });
  onTestFinished(() => server.close());
  server.store.mount('secret/').put(PATH, { a: '1' });
  const synced = await openSynced({ server, config: { enabled: false } });
  await synced.tie({});
  await synced.configure({ ...defaultConfig(server), skipTLSVerify: false });
  await synced.cycle();
  expect(server.store.requests).toEqual([]);
  expect(synced.data()).toEqual({});

  await synced.configure({ ...defaultConfig(server), skipTLSVerify: true });
  await synced.cycle();
  expect(synced.data()).toEqual({ a: '1' });
  expect(synced.sync.report().warnings).toContain('the certificate of the store is not checked');
});

test('a sealed file is pulled into sealed', async () => {
  const { identity, recipient } = await makeIdentity();
  const keyring = await Keyring.open([identity], { marks: true });
  const synced = await openSynced({ keyring });
  const rule = formatSopsConfig([{ folder: 'sharedsecrets', keys: ['data'] }], [recipient]);
  await synced.platform.commit({ '.sops.yaml': rule });
  synced.mount.put(PATH, { a: 'hunter2', b: 'stays' });
  await synced.tie({});
  await synced.cycle();
  synced.mount.put(PATH, { a: 'hunter3', b: 'stays' });
  await synced.cycle();

  expect(synced.data()).toEqual({ a: 'hunter3', b: 'stays' });
  const { gitDir } = synced.platform.repository;
  const everything = git(gitDir, ['log', '-p', '--format=%B', 'main']);
  expect(everything).toContain('ENC[AES256_GCM');
  for (const value of ['hunter2', 'hunter3', 'stays']) {
    expect(everything).not.toContain(value);
    expect(everything).not.toContain(base64(value));
  }
  // The changed value, the MAC, and its time where that is another second.
  expect(git(gitDir, ['show', '--format=', '--numstat', 'main'])).toMatch(/^[23]\t[23]\t/);
});

test('logs, metrics, events, conditions, reports and the state contain no tokens or values', async () => {
  const SECRETS = ['tok-3f9a', 'val-of-git', 'val-of-store', 'val-later'];
  const disk = new Map<string, Buffer>();
  const synced = await openSynced({ disk, config: { enabled: false } });
  synced.server.store.token('tok-3f9a');
  const auth = { token: 'tok-3f9a' };
  await synced.tie({ k: 'val-of-git' }, { direction: 'both' });
  await synced.configure({ ...defaultConfig(synced.server), auth });
  synced.mount.put(PATH, { k: 'val-of-store' });
  await synced.cycle();
  await synced.annotate({ adopt: 'prefer-store' });
  await synced.cycle();
  synced.mount.put(PATH, { k: 'val-later', n: 12345678901234567890n.toString() });
  await synced.cycle();
  synced.server.faults.push('cut-after', 'cut-before');
  synced.server.store.scripted.push({
    status: 500,
    headers: {},
    text: '{"errors":["val-later tok-3f9a"]}',
  });
  await synced.cycle();
  synced.server.store.tokens.clear();
  await vi.waitFor(async () => {
    await synced.cycle();
    expect(synced.conditions().join()).toContain('TokenInvalid');
  }, 20_000);
  expect(synced.data()).toMatchObject({ k: 'val-later' });

  const told = [
    ...synced.log,
    await synced.metrics.metrics(),
    JSON.stringify(synced.events.list()),
    JSON.stringify(synced.object()?.status),
    JSON.stringify(synced.sync.report()),
    ...[...synced.platform.store.documents('secret-store:')].map((note) => JSON.stringify(note)),
    git(synced.platform.repository.gitDir, ['log', '--format=%B', 'main']),
  ].join('\n');
  for (const value of SECRETS) {
    expect(told).not.toContain(value);
    expect(told).not.toContain(base64(value));
  }
  expect(told).toContain('secret/app/mail');
});

async function metric({ metrics }: SyncedPlatform, name: string): Promise<string | undefined> {
  const text = await metrics.metrics();
  return new RegExp(`^gitplane_secret_sync_${name}\\{store="default"\\} (.*)$`, 'm').exec(
    text,
  )?.[1];
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
