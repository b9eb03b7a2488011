/** Logins at a real OpenBao: each method, refusals, renewals, and what is left when the daemon stops. */
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { afterAll, test as anyTest, beforeAll, describe, expect, vi } from 'vitest';
import { type EtcdTls, makeEtcdTls } from '../support/etcd-tls.ts';
import { temporaryFolder } from '../support/git.ts';
import { OPENBAO_MISSING, OpenBao } from '../support/openbao.ts';
import { openSynced, PATH, type SyncedPlatform } from './synced-platform.ts';

const test = anyTest.skipIf(OPENBAO_MISSING !== undefined);
if (OPENBAO_MISSING) process.stderr.write(`SKIPPED: ${OPENBAO_MISSING}\n`);

const POLICY = `
path "secret/data/*" { capabilities = ["create", "read", "update", "patch"] }
path "secret/metadata/*" { capabilities = ["read", "list", "create", "update", "patch"] }
`;
const TOKEN = { token_policies: ['sync'], token_ttl: '1h' };
const SERVICE_ACCOUNT = { namespace: 'platform', name: 'gitplane', uid: 'uid-1' };

let bao: OpenBao;
let cluster: Server;
let folder: string;
const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' });

beforeAll(async () => {
  if (OPENBAO_MISSING !== undefined) return;
  bao = await OpenBao.start();
  folder = mkdtempSync(join(tmpdir(), 'gitplane-logins-'));
  const tls = await makeEtcdTls(folder);
  cluster = await startTokenReviews(tls);
  await bao.must('PUT', 'sys/policies/acl/sync', { policy: POLICY });
  for (const type of ['approle', 'userpass', 'jwt', 'kubernetes']) {
    await bao.must('POST', `sys/auth/${type}`, { type });
  }
  await bao.must('POST', 'auth/approle/role/sync', TOKEN);
  await bao.must('POST', 'auth/userpass/users/gitplane', { ...TOKEN, password: 'pass word' });
  const pem = keys.publicKey.export({ type: 'spki', format: 'pem' });
  await bao.must('POST', 'auth/jwt/config', { jwt_validation_pubkeys: [pem] });
  const role = { role_type: 'jwt', bound_audiences: ['bao'], user_claim: 'sub' };
  await bao.must('POST', 'auth/jwt/role/sync', { ...TOKEN, ...role });
  const { port } = cluster.address() as AddressInfo;
  await bao.must('POST', 'auth/kubernetes/config', {
    kubernetes_host: `https://127.0.0.1:${port}`,
    kubernetes_ca_cert: readFileSync(tls.ca, 'utf8'),
    disable_local_ca_jwt: true,
    token_reviewer_jwt: jwt({}),
  });
  await bao.must('POST', 'auth/kubernetes/role/sync', {
    ...TOKEN,
    bound_service_account_names: [SERVICE_ACCOUNT.name],
    bound_service_account_namespaces: [SERVICE_ACCOUNT.namespace],
  });
});
afterAll(async () => {
  await bao?.stop();
  cluster?.close();
  if (folder !== undefined) rmSync(folder, { recursive: true });
});

/** Answers TokenReviews as a cluster does that knows the tokens signed by our key. */
async function startTokenReviews(tls: EtcdTls): Promise<Server> {
  const pair = { cert: readFileSync(tls.serverCert), key: readFileSync(tls.serverKey) };
  const server = createServer(pair, (request, response) => {
    void json(request).then((review) => {
      const { spec } = review as { spec: { token: string; audiences: string[] } };
      const { namespace, name, uid } = SERVICE_ACCOUNT;
      const user = { username: `system:serviceaccount:${namespace}:${name}`, uid };
      const groups = ['system:serviceaccounts', 'system:authenticated'];
      const isKnown = spec.token.split('.').length === 3;
      const status = {
        authenticated: isKnown,
        user: { ...user, groups },
        audiences: spec.audiences,
      };
      response.writeHead(201, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ kind: 'TokenReview', ...(review as object), status }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

/** ES256, for an hour. */
function jwt(claims: object, key: KeyObject = keys.privateKey): string {
  const seconds = Math.floor(Date.now() / 1000);
  const all = { iss: 'test', sub: 'gitplane', aud: 'bao', iat: seconds, exp: seconds + 3600 };
  const head = { alg: 'ES256', typ: 'JWT' };
  const text = [head, { ...all, ...claims }]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  const signature = sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' });
  return `${text}.${signature.toString('base64url')}`;
}

function serviceAccountToken(name = SERVICE_ACCOUNT.name): string {
  const { namespace, uid } = SERVICE_ACCOUNT;
  return jwt({
    aud: ['bao'],
    sub: `system:serviceaccount:${namespace}:${name}`,
    'kubernetes.io': { namespace, serviceaccount: { name, uid } },
  });
}

async function appRole(more: object = {}): Promise<object> {
  const { body: role } = await bao.must('GET', 'auth/approle/role/sync/role-id');
  const { body } = await bao.must('POST', 'auth/approle/role/sync/secret-id');
  return { appRole: { roleId: role.data.role_id, secretId: body.data.secret_id, ...more } };
}

async function syncedWith(auth: object, folder = '/none'): Promise<SyncedPlatform> {
  const synced = await openSynced({
    config: { enabled: true, address: bao.address, auth, syncInterval: '1h' },
    options: { credentialFolders: [folder] },
  });
  await synced.tie({});
  await synced.cycle();
  return synced;
}

function file(text: string): { readonly folder: string; readonly path: string } {
  const folder = join(temporaryFolder(), 'credentials');
  mkdirSync(folder);
  const path = join(folder, 'jwt');
  writeFileSync(path, text);
  return { folder, path };
}

async function accessors(): Promise<string[]> {
  return (await bao.must('GET', 'auth/token/accessors/?list=true')).body.data.keys;
}

describe('OpenBao', () => {
  test.each<[string, () => Promise<[auth: object, folder?: string]>]>([
    ['AppRole', async () => [await appRole()]],
    ['userpass', async () => [{ userpass: { username: 'gitplane', password: 'pass word' } }]],
    [
      'JWT',
      async () => {
        const { folder, path } = file(jwt({}));
        return [{ jwt: { role: 'sync', tokenFile: path } }, folder];
      },
    ],
    [
      'Kubernetes',
      async () => {
        const { folder, path } = file(serviceAccountToken());
        return [{ kubernetes: { role: 'sync', tokenFile: path } }, folder];
      },
    ],
  ])('takes the login with %s, and nothing is left of it at the end', async (_method, of) => {
    await bao.put(PATH, { a: '1' });
    const before = await accessors();
    const synced = await syncedWith(...(await of()));
    expect(synced.message()).toContain('Git and the store agree');
    expect(synced.data()).toEqual({ a: '1' });
    expect(await accessors()).toHaveLength(before.length + 1);
    await synced.sync.close();

    expect(await accessors()).toHaveLength(before.length);
  });

  test.each<[string, () => Promise<[auth: object, folder?: string]>]>([
    ['a wrong secret ID', () => appRole({ secretId: 'wrong' }).then((auth) => [auth])],
    ['a mount that is not there', () => appRole({ mount: 'other' }).then((auth) => [auth])],
    ['a mount of another method', () => appRole({ mount: 'userpass' }).then((auth) => [auth])],
    ['a wrong password', async () => [{ userpass: { username: 'gitplane', password: 'wrong' } }]],
    [
      'a JWT of another key',
      async () => {
        const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
        const { folder, path } = file(jwt({}, other));
        return [{ jwt: { role: 'sync', tokenFile: path } }, folder];
      },
    ],
    [
      'a service account of another name',
      async () => {
        const { folder, path } = file(serviceAccountToken('other'));
        return [{ kubernetes: { role: 'sync', tokenFile: path } }, folder];
      },
    ],
  ])('refuses %s, in words that we know', async (_what, of) => {
    const synced = await syncedWith(...(await of()));

    expect(synced.conditions()).toEqual(['Synced=False LoginRefused', 'Stale=True LoginRefused']);
    expect(synced.told.at(-1)).toMatch(/login/);
  });

  test('a revoked token is replaced by a new login within the cycle', async () => {
    await bao.put(PATH, { a: '1' });
    const before = await accessors();
    const synced = await syncedWith(await appRole());
    const [own] = (await accessors()).filter((accessor) => !before.includes(accessor));
    await bao.must('POST', 'auth/token/revoke-accessor', { accessor: own });
    await bao.put(PATH, { a: '2' });
    await synced.cycle();

    expect(synced.data()).toEqual({ a: '2' });
    expect(synced.conditions()).toEqual(['Synced=True Synced']);
  });

  test('renews a token up to its longest life; another login comes before that, and the first token goes', async () => {
    const short = { token_policies: ['sync'], token_ttl: '3s', token_max_ttl: '6s' };
    await bao.must('POST', 'auth/userpass/users/short', { ...short, password: 'p' });
    const before = await accessors();
    await syncedWith({ userpass: { username: 'short', password: 'p' } });
    const own = async (): Promise<string[]> =>
      (await accessors()).filter((accessor) => !before.includes(accessor));
    const [first = ''] = await own();
    const expires = async (): Promise<string> =>
      (await bao.must('POST', 'auth/token/lookup-accessor', { accessor: first })).body.data
        .expire_time;
    const end = await expires();
    await vi.waitFor(async () => expect(await expires()).not.toBe(end), 30_000);
    await vi.waitFor(async () => {
      const now = await own();
      expect(now).toHaveLength(1);
      expect(now).not.toContain(first);
    }, 30_000);
  });
});
