/** The certificates and the address of the store: which are used, and from which moment on. */
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { FollowedFiles } from '../../src/secret-store-sync/followed-files.ts';
import { type EtcdTls, makeEtcdTls } from '../support/etcd-tls.ts';
import { temporaryFolder } from '../support/git.ts';
import { type KvServer, type KvServerOptions, startKvServer } from '../support/kv-server.ts';
import {
  defaultConfig,
  openSynced,
  PATH,
  type SyncedPlatform,
  type SyncedSetup,
} from './synced-platform.ts';

const FILE_TIMES = { stableMs: 20, lookMs: 3_600_000 };

let folder: string;
let tls: EtcdTls;
/** Of another authority. */
let strange: EtcdTls;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gitplane-store-'));
  tls = await makeEtcdTls(join(folder, 'ours'));
  strange = await makeEtcdTls(join(folder, 'strange'));
});
afterAll(() => rmSync(folder, { recursive: true }));

async function secureServer(more: KvServerOptions = {}): Promise<KvServer> {
  const cert = readFileSync(tls.serverCert, 'utf8');
  const server = await startKvServer({
    tls: { cert, key: readFileSync(tls.serverKey, 'utf8') },
    ...more,
  });
  onTestFinished(() => server.close());
  server.store.mount('secret/').put(PATH, { a: '1' });
  return server;
}

function mutual(): KvServerOptions {
  const [cert, key, ca] = [tls.serverCert, tls.serverKey, tls.ca].map((file) =>
    readFileSync(file, 'utf8'),
  );
  return { tls: { cert: cert ?? '', key: key ?? '', ca: ca ?? '' } };
}

async function syncedWith(
  server: KvServer,
  fields: object,
  setup: SyncedSetup = {},
): Promise<SyncedPlatform> {
  const synced = await openSynced({
    server,
    config: { ...defaultConfig(server), ...fields },
    ...setup,
    options: { fileTimes: FILE_TIMES, ...setup.options },
  });
  await synced.tie({});
  await synced.cycle();
  return synced;
}

describe('a store with a private authority is read', () => {
  test.each<[string, (ca: string) => SyncedSetup & { fields?: object }]>([
    ['with caFile', (ca) => ({ fields: { caFile: ca } })],
    ['with caData as PEM', (ca) => ({ fields: { caData: readFileSync(ca, 'utf8') } })],
    ['with caData as base64', (ca) => ({ fields: { caData: readFileSync(ca, 'base64') } })],
    ['with BAO_CACERT', (ca) => ({ environment: { BAO_CACERT: ca, VAULT_CACERT: '/none' } })],
    ['with VAULT_CACERT', (ca) => ({ environment: { VAULT_CACERT: ca } })],
  ])('%s', async (_how, of) => {
    const { fields = {}, ...setup } = of(tls.ca);
    const synced = await syncedWith(await secureServer(), fields, setup);

    expect(synced.data()).toEqual({ a: '1' });
    expect(synced.sync.report().warnings).toEqual([]);
  });

  test('is refused under the authorities of the system, and under another one', async () => {
    const server = await secureServer();
    const synced = await syncedWith(server, {});
    expect(synced.conditions()).toEqual(['Synced=False Unreachable', 'Stale=True Unreachable']);
    expect(synced.told.at(-1)).toContain('name the authority of its certificate with caFile');

    await synced.configure({ ...defaultConfig(server), caFile: strange.ca });
    await synced.cycle();
    expect(synced.data()).toEqual({});
    expect(server.store.requests).toEqual([]);
  });
});

describe('a file of an authority', () => {
  test('a changed CA file is used without a restart, and the former one no longer', async () => {
    const server = await secureServer();
    const caFile = join(temporaryFolder(), 'ca.pem');
    writeFileSync(caFile, readFileSync(strange.ca));
    const synced = await syncedWith(server, { caFile });
    expect(synced.data()).toEqual({});

    replace(caFile, readFileSync(tls.ca, 'utf8'));
    await vi.waitFor(() => expect(synced.data()).toEqual({ a: '1' }));

    replace(caFile, readFileSync(strange.ca, 'utf8'));
    await vi.waitFor(() => expect(synced.told.at(-1)).toContain('caFile'));
    const before = server.store.requests.length;
    await synced.cycle();
    expect(server.store.requests).toHaveLength(before);
    expect(synced.conditions()).toEqual(['Synced=False Unreachable', 'Stale=True Unreachable']);
  });

  test.each([
    ['is missing', undefined, 'ENOENT'],
    ['has no certificate', 'nothing', 'must hold a certificate as PEM'],
  ])(
    'a CA file that %s ends the use of the store, and the error names the file',
    async (_what, text, why) => {
      const server = await secureServer();
      const caFile = join(temporaryFolder(), 'ca.pem');
      if (text !== undefined) writeFileSync(caFile, text);
      const synced = await syncedWith(server, { caFile });

      expect(synced.conditions()).toEqual([
        'Synced=False FileUnreadable',
        'Stale=True FileUnreadable',
      ]);
      expect(synced.told.at(-1)).toContain('caFile');
      expect(synced.told.at(-1)).toContain(why);
      expect(server.store.requests).toEqual([]);

      writeFileSync(caFile, readFileSync(tls.ca));
      await vi.waitFor(() => expect(synced.data()).toEqual({ a: '1' }));
      expect(synced.told.at(-1)).toBeUndefined();
    },
  );
});

test('a folder in the place of a file is not waited for, and is reported', () => {
  const files = new FollowedFiles(() => {}, FILE_TIMES);
  onTestFinished(() => files.close());

  expect(() => files.text('secretStore.caFile', folder)).toThrow('it is not a regular file');
  expect(() => files.text('secretStore.caFile', '/dev/zero')).toThrow('it is not a regular file');
});

describe('a store that asks for a client certificate', () => {
  const files = (of: EtcdTls): object => ({ clientCertFile: of.cert, clientKeyFile: of.key });

  test.each<[string, () => SyncedSetup & { fields?: object }]>([
    [
      'by files in a folder for credentials',
      () => ({ fields: files(tls), options: { credentialFolders: [join(tls.key, '..')] } }),
    ],
    [
      'by fields',
      () => ({
        fields: {
          clientCertData: readFileSync(tls.cert, 'utf8'),
          clientKeyData: readFileSync(tls.key, 'base64'),
        },
      }),
    ],
    [
      'by the environment',
      () => ({ environment: { BAO_CLIENT_CERT: tls.cert, VAULT_CLIENT_KEY: tls.key } }),
    ],
  ])('gets it %s', async (_how, of) => {
    const { fields = {}, ...setup } = of();
    const synced = await syncedWith(
      await secureServer(mutual()),
      { caFile: tls.ca, ...fields },
      setup,
    );

    expect(synced.data()).toEqual({ a: '1' });
    expect(JSON.stringify(synced.sync.report()) + synced.log.join()).not.toContain('PRIVATE KEY');
  });

  test('is not reached without, nor with one of another authority', async () => {
    const server = await secureServer(mutual());
    const synced = await syncedWith(server, { caFile: tls.ca });
    expect(synced.told.at(-1)).toContain('Cannot reach');

    const options = { credentialFolders: [join(strange.key, '..')] };
    const other = await syncedWith(server, { caFile: tls.ca, ...files(strange) }, { options });
    expect(other.told.at(-1)).toContain('Cannot reach');
    expect(server.store.requests).toEqual([]);
  });

  test('gets no key from a folder that the operator has not named', async () => {
    const server = await secureServer(mutual());
    const synced = await syncedWith(server, { caFile: tls.ca, ...files(tls) });

    expect(synced.told.at(-1)).toContain('in none of the folders for credentials (/run/secrets');
    expect(synced.told.at(-1)).toContain('--credentials-dir');
    expect(server.store.requests).toEqual([]);
  });

  test('gets no certificate whose key is another one', async () => {
    const synced = await syncedWith(await secureServer(mutual()), {
      caFile: tls.ca,
      clientCertData: readFileSync(tls.cert, 'utf8'),
      clientKeyData: readFileSync(strange.key, 'utf8'),
    });

    expect(synced.told.at(-1)).toContain('is not the key of the client certificate');
  });
});

test('a path of the address is before every request, and no redirect leads out of it', async () => {
  const server = await startKvServer({ prefix: '/team/bao' });
  onTestFinished(() => server.close());
  server.store.mount('secret/').put(PATH, { a: '1' });
  const synced = await syncedWith(server, { address: `${server.address}/` });
  expect(synced.data()).toEqual({ a: '1' });
  expect(synced.sync.report().address).toBe(server.address);

  const before = server.seen.length;
  server.redirectTo = server.address.replace('/team/bao', '/other');
  server.faults.push('redirect');
  server.store.mounts.get('')?.get('secret/')?.put(PATH, { a: '2' });
  await synced.cycle();

  // The token would have gone along with a second one.
  expect(server.seen).toHaveLength(before + 1);
  expect(synced.conditions()).toContain('Stale=True Redirected');
});

/** As tools replace a file that is in use. */
function replace(file: string, text: string): void {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}
