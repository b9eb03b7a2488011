/** The store as it is configured: read, changed while it runs, wrong, and never told to anybody. */
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { systemClock } from '../../src/apimachinery/clock.ts';
import { Keyring, makeIdentity } from '../../src/sealing/data-keys.ts';
import { formatSopsConfig } from '../../src/sealing/sops-config.ts';
import { readStoreSettings } from '../../src/storesync/settings.ts';
import { ensureServerCertificate } from '../../src/tls/server-certificate.ts';
import { git, temporaryFolder } from '../support/git.ts';
import { startKvServer } from '../support/kv-server.ts';
import { defaultConfig, openSynced, PATH, type SyncedPlatform } from './synced-platform.ts';

describe('settings', () => {
  const ADDRESS = 'https://store.example.com:8200';

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
  ])('with %s', (_what, written, expected) => {
    const environment = {
      BAO_ADDR: 'http://bao',
      VAULT_ADDR: 'http://vault',
      BAO_NAMESPACE: 'team',
    };
    const settings = readStoreSettings(written, environment);

    if (expected === undefined) expect(settings).toBeUndefined();
    else expect(settings).toMatchObject(expected);
  });

  test('without an address anywhere say where one can be given', () => {
    expect(() => readStoreSettings({ enabled: true, syncInterval: '1m' }, {})).toThrow(
      'secretStore.address is empty, and so are BAO_ADDR and VAULT_ADDR',
    );
  });
});

describe('a token', () => {
  test('is taken from a secret, and another one from the moment that it is there', async () => {
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

  test('that the store does not know replaces none that it knows, and is told', async () => {
    const synced = await openSynced();
    synced.mount.put(PATH, { a: '1' });
    await synced.tie({});
    await synced.cycle();
    await synced.configure({ ...defaultConfig(synced.server), auth: { token: 'mistyped' } });
    synced.mount.put(PATH, { a: '2' });
    await synced.cycle();

    expect(synced.data()).toEqual({ a: '2' });
    const { warnings } = synced.sync.report();
    expect(warnings.join()).toContain('is not known to the store; the one before it is used');
    expect(JSON.stringify(synced.sync.report())).not.toContain('mistyped');

    synced.server.store.token('mistyped');
    await synced.cycle();
    await synced.cycle();
    expect(synced.sync.report().warnings).toEqual([]);
    expect(lastTokens(synced)).toBe('mistyped');
  });

  test('that is mended is used at once, however often the dead one failed', async () => {
    const synced = await openSynced({ config: { enabled: false } });
    const wrong = { ...defaultConfig(synced.server), auth: { token: 'dead' } };
    await synced.configure(wrong);
    synced.mount.put(PATH, { a: '1' });
    await synced.tie({});
    for (let cycle = 0; cycle < 5; cycle += 1) await synced.cycle();
    expect(synced.conditions()).toEqual(['Stale=True TokenInvalid']);
    await synced.configure(defaultConfig(synced.server));
    await synced.cycle();

    expect(synced.conditions()).toEqual(['Synced=True Synced']);
    expect(synced.data()).toEqual({ a: '1' });
  });

  test('that is nowhere is told with the place where it should be', async () => {
    const synced = await openSynced({ config: { enabled: false } });
    const auth = { tokenSecretRef: { name: 'token', key: 'it' } };
    await synced.configure({ ...defaultConfig(synced.server), auth });
    await synced.tie({});
    await synced.cycle();

    expect(synced.conditions()).toEqual(['Stale=True TokenMissing']);
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

  function lastTokens({ server }: SyncedPlatform): unknown {
    return server.seen.at(-1)?.['x-vault-token'];
  }
});

describe('a change of the configuration', () => {
  test('to another store is one as soon as that answers, and until then the old one is used', async () => {
    const synced = await openSynced();
    synced.mount.put(PATH, { a: '1' });
    await synced.tie({});
    await synced.cycle();
    const other = await startKvServer();
    await other.close();
    await synced.configure({ ...defaultConfig(synced.server), address: other.address });
    synced.mount.put(PATH, { a: '2' });
    await synced.cycle();

    expect(synced.data()).toEqual({ a: '2' });
    expect(synced.sync.report()).toMatchObject({
      state: 'available',
      address: synced.server.address,
      problem: expect.stringContaining('The settings from before stay in use') as string,
    });

    const third = await startKvServer();
    onTestFinished(() => third.close());
    third.store.mount('secret/').put(PATH, { a: 'elsewhere' });
    await synced.configure({ ...defaultConfig(synced.server), address: third.address });
    await synced.cycle();
    expect(synced.sync.report()).toMatchObject({ address: third.address, problem: undefined });
    // Another store is no newer version of the same one.
    expect(synced.conditions()).toEqual(['Synced=False AdoptionConflict']);
  });

  test('that ends the sync asks the store nothing any more, and says so', async () => {
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

  test('of the address to none is told, and leaves what is there', async () => {
    const synced = await openSynced();
    await synced.cycle();
    await synced.configure({ ...defaultConfig(synced.server), address: '' });
    await synced.cycle();

    expect(synced.sync.report()).toMatchObject({
      state: 'available',
      problem: expect.stringContaining('secretStore.address is empty') as string,
    });
  });
});

// covers: secretStore.skipTLSVerify
test('a store whose certificate nobody vouches for is asked only where that is skipped, and that is told', async () => {
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
  const keyring = await Keyring.open([identity]);
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

test('neither tokens nor values are in logs, metrics, events, conditions, reports or the state', async () => {
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
    ...[...synced.platform.store.notes('secret-store:')].map((note) => JSON.stringify(note)),
    git(synced.platform.repository.gitDir, ['log', '--format=%B', 'main']),
  ].join('\n');
  for (const value of SECRETS) {
    expect(told).not.toContain(value);
    expect(told).not.toContain(base64(value));
  }
  expect(told).toContain('secret/app/mail');
});

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
