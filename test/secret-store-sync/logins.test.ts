/** Logins of the daemon at the store: each method, its credentials, and what becomes of its token. */
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { systemClock } from '../../src/apimachinery/clock.ts';
import { StoreConnection } from '../../src/secret-store-sync/connection.ts';
import { temporaryFolder } from '../support/git.ts';
import { appRoleLogin, jwtLogin, kubernetesLogin, userpassLogin } from '../support/kv/kv-auth.ts';
import { type KvServer, startKvServer } from '../support/kv-server.ts';
import { encoded, openSynced, PATH, type SyncedPlatform } from './synced-platform.ts';

const FILE_TIMES = { stableMs: 20, lookMs: 3_600_000 };
const SECRET_ID = 'secret-id-3b1c';
const PASSWORD = 'pass word-77aa';
const JWT = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl';
const ROLE_ID = 'role-1';
const APP_ROLE = { appRole: { roleId: ROLE_ID, secretIdSecretRef: { name: 'login', key: 'it' } } };

/** A store that knows each login, whose root token is not told to anybody. */
async function loginServer(): Promise<KvServer> {
  const server = await startKvServer();
  onTestFinished(() => server.close());
  const { store } = server;
  store.tokens.clear();
  store.mount('secret/').put(PATH, { a: '1' });
  store.logins.set('auth/approle/login', appRoleLogin(ROLE_ID, SECRET_ID));
  store.logins.set('auth/team/roles/login', appRoleLogin(ROLE_ID, SECRET_ID));
  store.logins.set('auth/userpass/login/gitplane', userpassLogin(PASSWORD));
  store.logins.set(
    'auth/jwt/login',
    jwtLogin('ci', (jwt) => jwt === JWT),
  );
  store.logins.set(
    'auth/kubernetes/login',
    kubernetesLogin('pod', (jwt) => jwt === JWT),
  );
  return server;
}

interface Files {
  readonly folder: string;
  write(name: string, text: string): string;
}

function files(): Files {
  const folder = join(temporaryFolder(), 'credentials');
  mkdirSync(folder);
  const write = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
    return path;
  };
  return { folder, write };
}

/** With a SharedSecret `login` that has the credential under the key `it`. */
async function syncedWith(
  server: KvServer,
  auth: object,
  of: { credential?: string; folder?: string; environment?: Record<string, string> } = {},
): Promise<SyncedPlatform> {
  const { credential = SECRET_ID, folder, environment = {} } = of;
  const { address } = server;
  const synced = await openSynced({
    server,
    environment,
    config: { enabled: false },
    options: { fileTimes: FILE_TIMES, credentialFolders: folder === undefined ? [] : [folder] },
  });
  await synced.platform.create(
    'sharedsecrets',
    { metadata: { name: 'login' }, spec: { data: encoded({ it: credential }) } },
    'default',
  );
  await synced.configure({ enabled: true, address, auth, syncInterval: '1h' });
  await synced.tie({});
  await synced.cycle();
  return synced;
}

function logins({ store }: KvServer): number {
  return store.requests.filter(({ path }) => path.includes('/login')).length;
}

describe('a login gives the token', () => {
  test.each<[string, (write: Files['write']) => object, string?]>([
    ['AppRole with a secret ID', () => ({ appRole: { roleId: ROLE_ID, secretId: SECRET_ID } })],
    ['AppRole with a SharedSecret', () => APP_ROLE],
    [
      'AppRole with a file',
      (write) => ({
        appRole: {
          roleId: ROLE_ID,
          mount: 'team/roles',
          secretIdFile: write('id', `${SECRET_ID}\n`),
        },
      }),
    ],
    ['Kubernetes', (write) => ({ kubernetes: { role: 'pod', tokenFile: write('token', JWT) } })],
    ['JWT with a file', (write) => ({ jwt: { role: 'ci', tokenFile: write('jwt', `${JWT}\n`) } })],
    [
      'JWT with a SharedSecret',
      () => ({ jwt: { role: 'ci', tokenSecretRef: { name: 'login', key: 'it' } } }),
      JWT,
    ],
    ['userpass', () => ({ userpass: { username: 'gitplane', password: PASSWORD } })],
    [
      'userpass with a file',
      (write) => ({ userpass: { username: 'gitplane', passwordFile: write('pw', PASSWORD) } }),
    ],
    [
      'userpass with a SharedSecret',
      () => ({
        userpass: { username: 'gitplane', passwordSecretRef: { name: 'login', key: 'it' } },
      }),
      `${PASSWORD}\n`,
    ],
  ])('%s', async (_method, auth, credential = SECRET_ID) => {
    const server = await loginServer();
    const { folder, write } = files();
    const synced = await syncedWith(server, auth(write), { credential, folder });

    expect(synced.data()).toEqual({ a: '1' });
    expect(logins(server)).toBe(1);
    expect(synced.told.at(-1)).toBeUndefined();
    const [issued = ''] = server.store.tokens.keys();
    await synced.cycle();
    expect(logins(server)).toBe(1);
    const told = JSON.stringify([synced.log, synced.sync.report(), synced.object()?.status]);
    for (const secret of [SECRET_ID, PASSWORD, JWT, issued]) expect(told).not.toContain(secret);
  });

  test('AppRole without a secret ID sends none', async () => {
    const server = await loginServer();
    const login = vi.fn(() => ({ ttl: 60, creationTtl: 60 }));
    server.store.logins.set('auth/approle/login', login);
    await syncedWith(server, { appRole: { roleId: ROLE_ID } });

    expect(login.mock.calls).toEqual([[{ role_id: ROLE_ID }]]);
  });
});

describe('a login that the store refuses', () => {
  test('is reported with the remedy, is tried once per cycle, and ends the use of the store', async () => {
    const server = await loginServer();
    const synced = await syncedWith(server, APP_ROLE, { credential: 'wrong-7d' });
    expect(synced.conditions()).toEqual(['Synced=False LoginRefused', 'Stale=True LoginRefused']);
    expect(synced.told.at(-1)).toContain('refuses the login; check its credentials and its role');
    expect(synced.told.at(-1)).toContain('AppRole at auth/approle');
    expect(synced.log.join()).not.toContain('wrong-7d');
    const before = server.store.requests.length;
    await synced.cycle();
    expect(server.store.requests).toHaveLength(before + 1);

    await synced.edit({ it: SECRET_ID }, 'login');
    await synced.cycle();
    expect(synced.data()).toEqual({ a: '1' });
    expect(synced.conditions()).toEqual(['Synced=True Synced']);
    expect(synced.told.at(-1)).toBeUndefined();
  });

  test.each([
    ['a mount that is not there', { appRole: { roleId: ROLE_ID, mount: 'other' } }],
    ['a role of Kubernetes', { kubernetes: { role: 'another', tokenFile: 'jwt' } }],
  ])('is reported: %s', async (_what, auth) => {
    const { folder, write } = files();
    const tokenFile = write('jwt', JWT);
    const text = JSON.stringify(auth).replace('"tokenFile":"jwt"', `"tokenFile":"${tokenFile}"`);
    const synced = await syncedWith(await loginServer(), JSON.parse(text), { folder });

    expect(synced.conditions()).toEqual(['Synced=False LoginRefused', 'Stale=True LoginRefused']);
  });

  test('a second factor is not asked for without end', async () => {
    const server = await loginServer();
    const auth = { client_token: '', mfa_requirement: { mfa_request_id: 'x' } };
    server.store.logins.set('auth/approle/login', () => ({ status: 200, body: { auth } }));
    const synced = await syncedWith(server, APP_ROLE);

    expect(synced.told.at(-1)).toContain('asks for a second factor');
  });
});

describe('a token of a login', () => {
  test('a token that the store no longer knows is replaced within the cycle', async () => {
    const server = await loginServer();
    const synced = await syncedWith(server, APP_ROLE);
    server.store.tokens.clear();
    synced.mount.put(PATH, { a: '2' });
    await synced.cycle();

    expect(synced.data()).toEqual({ a: '2' });
    expect(synced.conditions()).toEqual(['Synced=True Synced']);
    expect(logins(server)).toBe(2);
  });

  test('a token whose policy lacks a path causes no new login', async () => {
    const server = await loginServer();
    const denies = (_method: string, path: string): boolean => path.startsWith('secret/');
    server.store.logins.set('auth/approle/login', appRoleLogin(ROLE_ID, SECRET_ID, { denies }));
    const synced = await syncedWith(server, APP_ROLE);

    expect(synced.conditions().join()).not.toContain('Synced=True');
    expect(logins(server)).toBe(1);
  });

  test('is revoked when the daemon stops', async () => {
    const server = await loginServer();
    const synced = await syncedWith(server, APP_ROLE);
    expect(server.store.tokens.size).toBe(1);
    await synced.sync.close();

    expect(server.store.tokens.size).toBe(0);
  });

  test('is revoked when the configuration has another login, and nothing else is sent with it', async () => {
    const server = await loginServer();
    const synced = await syncedWith(server, APP_ROLE);
    const [issued] = server.store.tokens.keys();
    const before = server.seen.length;
    const { address } = server;
    await synced.configure({ enabled: false, address, auth: APP_ROLE });
    await synced.cycle();
    await vi.waitFor(() => expect(server.store.tokens.size).toBe(0));

    expect(server.seen.slice(before).map((headers) => headers['x-vault-token'])).toEqual([issued]);
    expect(server.store.requests.at(-1)?.path).toBe('/v1/auth/token/revoke-self');
  });

  describe('the revocation of a token over the quota of the store', () => {
    const AGAIN: [string, (synced: SyncedPlatform) => Promise<unknown>][] = [
      ['when the daemon stops', (synced) => synced.sync.close()],
      ['when the login is another one', (synced) => synced.configure({ enabled: false })],
      [
        'when the daemon stops after that',
        async (synced) => {
          await synced.configure({ enabled: false });
          await vi.waitFor(() =>
            expect(synced.server.store.requests.at(-1)?.path).toMatch(/revoke/),
          );
          await synced.sync.close();
        },
      ],
    ];

    test.each(AGAIN)('is revoked by a later request, %s', async (_when, end) => {
      const server = await loginServer();
      const synced = await syncedWith(server, APP_ROLE);
      const { store } = server;
      store.quota = { left: 3, retryAfter: undefined };
      await end(synced);
      await vi.waitFor(() => expect(store.tokens.size).toBe(0), 10_000);

      const paths = store.requests.slice(-4).map(({ path }) => path);
      expect(paths).toEqual(Array(4).fill('/v1/auth/token/revoke-self'));
    });

    test('is reported when it takes too long, and delays no stop', async () => {
      const server = await loginServer();
      const synced = await syncedWith(server, APP_ROLE);
      server.store.quota = { left: 1_000, retryAfter: undefined };
      const before = performance.now();
      await synced.sync.close();

      expect(performance.now() - before).toBeLessThan(8_000);
      expect(server.store.requests.length).toBeLessThan(60);
      expect(synced.log.join('\n')).toMatch(/A token could not be revoked and stays until it ends/);
    });
  });

  test('includes a token that is issued while the daemon stops', async () => {
    const server = await loginServer();
    const synced = await syncedWith(server, APP_ROLE);
    server.store.tokens.clear();
    const cycle = synced.cycle();
    await synced.sync.close();
    await cycle;

    expect(server.store.tokens.size).toBe(0);
  });

  test('excludes a token that was handed over', async () => {
    const server = await loginServer();
    server.store.token('given');
    const synced = await syncedWith(server, { token: 'given' });
    await synced.sync.close();

    expect([...server.store.tokens.keys()]).toEqual(['given']);
  });
});

test('a connection ends while its login hangs', async () => {
  const server = await loginServer();
  server.faults.push('hang');
  const connection = new StoreConnection({
    settings: {
      address: server.address,
      skipTLSVerify: false,
      tls: {},
      namespace: '',
      intervalMs: 60_000,
      onStoreOlder: 'Hold',
      login: { name: 'AppRole', path: 'auth/approle/login', fields: { role_id: ROLE_ID } },
    },
    token: () => undefined,
    fileText: () => '',
    clock: systemClock,
    sending: () => undefined,
    warn: () => undefined,
  });
  const begun = connection.beginCycle().catch((error: unknown) => error);
  await vi.waitFor(() => expect(server.seen).toHaveLength(1));
  await connection.close(50);

  expect(await begun).toMatchObject({ reason: 'Unreachable' });
  // The request has 20 s of its own.
}, 15_000);

test('a former connection whose revocation hangs ends with the sync', async () => {
  const server = await loginServer();
  const synced = await syncedWith(server, APP_ROLE);
  server.faults.push('hang');
  const before = server.seen.length;
  await synced.configure({ enabled: false });
  await vi.waitFor(() => expect(server.seen.length).toBeGreaterThan(before));
  await synced.sync.close();

  await vi.waitFor(() => expect(synced.log.join('\n')).toMatch(/A token could not be revoked/));
}, 15_000);

describe('a credential', () => {
  test('a replaced credential causes a new login at once', async () => {
    const server = await loginServer();
    const synced = await syncedWith(server, APP_ROLE);
    const [first] = server.store.tokens.keys();
    server.store.logins.set('auth/approle/login', appRoleLogin(ROLE_ID, 'second-id'));
    await synced.edit({ it: 'second-id' }, 'login');
    synced.mount.put(PATH, { a: '2' });
    await synced.cycle();

    expect(synced.data()).toEqual({ a: '2' });
    await vi.waitFor(() => expect(server.store.tokens.has(first ?? '')).toBe(false));
  });

  test('a removed credential ends the use of the store, and the error names its place', async () => {
    const server = await loginServer();
    const synced = await syncedWith(server, APP_ROLE);
    await synced.remove('login');
    await synced.cycle();
    await vi.waitFor(() => expect(server.store.tokens.size).toBe(0));
    const before = server.store.requests.length;
    await synced.cycle();

    expect(server.store.requests).toHaveLength(before);
    expect(synced.conditions()).toEqual([
      'Synced=False CredentialMissing',
      'Stale=True CredentialMissing',
    ]);
    expect(synced.told.at(-1)).toContain(
      'secretStore.auth.appRole.secretIdSecretRef: SharedSecret "default/login" has no key "it"',
    );
  });

  test('a credential in a folder that the operator has not named is not read', async () => {
    const { folder, write } = files();
    const auth = { userpass: { username: 'gitplane', passwordFile: write('pw', PASSWORD) } };
    const server = await loginServer();
    const synced = await syncedWith(server, auth);

    expect(server.seen).toEqual([]);
    expect(synced.told.at(-1)).toContain(`${folder}/pw is in none of the folders for credentials`);
  });

  test('a credential that is not a JWT is not sent as one', async () => {
    const { folder, write } = files();
    const auth = { jwt: { role: 'ci', tokenFile: write('jwt', 'root:x:0:0\n') } };
    const server = await loginServer();
    const synced = await syncedWith(server, auth, { folder });

    expect(server.seen).toEqual([]);
    expect(synced.told.at(-1)).toContain('holds no JWT');
    expect(synced.told.at(-1)).not.toContain('root:x');
  });

  test('a credential of Kubernetes is read again for each login, and causes none', async () => {
    const server = await loginServer();
    const sent: (string | undefined)[] = [];
    server.store.logins.set('auth/kubernetes/login', ({ jwt }) => {
      sent.push(jwt);
      return { ttl: 60, creationTtl: 60 };
    });
    const { folder, write } = files();
    const tokenFile = write('token', JWT);
    const synced = await syncedWith(server, { kubernetes: { role: 'pod', tokenFile } }, { folder });
    const cycles = synced.sync.report().lastCycle?.started;
    write('token', `${JWT}2`);
    await vi.waitFor(() => expect(synced.sync.report().lastCycle?.started).not.toBe(cycles));
    await synced.cycle();
    expect(sent).toEqual([JWT]);

    server.store.tokens.clear();
    await synced.cycle();
    expect(sent).toEqual([JWT, `${JWT}2`]);
  });
});

describe('a file with a token', () => {
  test('is read again when it changes, and its former token is not used any more', async () => {
    const server = await loginServer();
    server.store.token('first');
    server.store.token('second');
    const { folder, write } = files();
    const tokenFile = write('token', 'first\n');
    const synced = await syncedWith(server, { tokenFile }, { folder });
    expect(synced.data()).toEqual({ a: '1' });

    const before = server.seen.length;
    synced.mount.put(PATH, { a: '2' });
    write('token', 'second\n');
    await vi.waitFor(() => expect(synced.data()).toEqual({ a: '2' }));
    const used = server.seen.slice(before).map((headers) => headers['x-vault-token']);
    expect(new Set(used)).toEqual(new Set(['second']));

    rmSync(tokenFile);
    await vi.waitFor(() => expect(synced.conditions().join()).toContain('FileUnreadable'));
    expect(synced.told.at(-1)).toContain('secretStore.auth.tokenFile');
    expect([...server.store.tokens.keys()]).toEqual(['first', 'second']);
  });

  test('a token file with several lines is not sent', async () => {
    const { folder, write } = files();
    const server = await loginServer();
    const tokenFile = write('token', '# created: today\nAGE-SECRET-KEY-1\n');
    const synced = await syncedWith(server, { tokenFile }, { folder });

    expect(server.seen).toEqual([]);
    expect(synced.told.at(-1)).toContain('must hold one token on one line');
  });
});
