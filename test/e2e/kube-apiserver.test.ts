/**
 * A real API server of Kubernetes judges our endpoint tokens: offline by its OIDC authenticator, and
 * by asking us with a TokenReview. Built by `npm run kubernetes`, which takes minutes: where nobody
 * did, this file says so and tests nothing.
 */
import { createHmac, createPublicKey, generateKeyPairSync, randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeJwt, decodeProtectedHeader, importPKCS8, type JWTPayload, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { API, type Daemon, RBAC, scratchDir, startDaemon } from '../support/daemon.ts';
import {
  type ApiServer,
  hasApiServer,
  startApiServer,
} from '../support/kube-apiserver/api-server.ts';
import { freePort } from '../support/machine.ts';

if (!hasApiServer) {
  test.skip('kube-apiserver is not built (npm run kubernetes): it judged no endpoint token', () => {});
}

/** The cluster that verifies by itself, and the one that asks. */
const OFFLINE = 'gitplane:cluster:offline';
const ASKING = 'gitplane:cluster:asking';

let daemon: Daemon;
let cluster: ApiServer;
let issuer: string;

async function made(path: string, body: object): Promise<{ spec: { key: string } }> {
  const answer = await daemon.call('POST', path, { body });
  expect(answer.code, answer.text).toBe(201);
  return answer.json();
}

/** An endpoint token for one cluster, or for all. */
async function issued(name: string | undefined, key = daemon.token): Promise<string> {
  const spec = name === undefined ? {} : { scope: { clusters: [{ cluster: name }] } };
  const options = { body: { spec }, token: key };
  const answer = await daemon.call('POST', `${API}/directclusterendpointtokens`, options);
  expect(answer.code, answer.text).toBe(201);
  return answer.json().status.token;
}

async function bobsKey(): Promise<string> {
  return (await made(`${API}/ownedaccesskeys`, { spec: { user: 'bob' } })).spec.key;
}

async function change(user: string, spec: object): Promise<void> {
  const options = { body: { spec }, type: 'application/merge-patch+json' };
  const answer = await daemon.call('PATCH', `${API}/users/${user}`, options);
  expect(answer.code, answer.text).toBe(200);
}

describe.skipIf(!hasApiServer)('kube-apiserver', () => {
  beforeAll(async () => {
    const port = await freePort();
    issuer = `https://127.0.0.1:${port}`;
    const args = ['--listen', `127.0.0.1:${port}`, '--public-url', issuer];
    daemon = await startDaemon({ args });
    const apiGroup = 'rbac.authorization.k8s.io';
    const metadata = { name: 'bob' };
    await made(`${API}/users`, { metadata, spec: { groups: ['dev'] } });
    await made(`${RBAC}/clusterroles`, {
      metadata: { name: 'agents' },
      rules: [
        { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
        {
          apiGroups: ['management.gitplane.dev'],
          resources: ['directclusterendpointtokens'],
          verbs: ['create'],
        },
      ],
    });
    await made(`${RBAC}/clusterrolebindings`, {
      metadata: { name: 'agents' },
      roleRef: { apiGroup, kind: 'ClusterRole', name: 'agents' },
      subjects: [
        { apiGroup, kind: 'User', name: 'gitplane-agent' },
        { apiGroup, kind: 'Group', name: 'dev' },
      ],
    });
    const agent = (await made(`${API}/ownedaccesskeys`, { spec: { subject: 'gitplane-agent' } }))
      .spec.key;
    const folder = scratchDir();
    const webhook = join(folder, 'webhook.json');
    writeFileSync(webhook, JSON.stringify(webhookConfig(agent)));
    cluster = await startApiServer([
      `--oidc-issuer-url=${issuer}`,
      `--oidc-client-id=${OFFLINE}`,
      `--oidc-ca-file=${join(daemon.dataDir, 'tls/ca.crt')}`,
      '--oidc-username-claim=sub',
      '--oidc-username-prefix=gitplane:',
      '--oidc-groups-claim=groups',
      '--oidc-groups-prefix=gitplane:',
      '--oidc-signing-algs=ES256',
      `--authentication-token-webhook-config-file=${webhook}`,
      '--authentication-token-webhook-version=v1',
      '--authentication-token-webhook-cache-ttl=0s',
      `--api-audiences=${ASKING}`,
    ]);
    // It fetches the issuer's documents in the background, and asks nobody who is not ready.
    const token = await issued('offline');
    await vi.waitFor(async () => expect(await cluster.whoIs(token)).toBeDefined(), {
      timeout: 50_000,
      interval: 200,
    });
  });

  afterAll(async () => {
    await cluster?.stop();
    await daemon?.stop();
  });

  function webhookConfig(token: string): object {
    const server = `${issuer}/kubernetes/management/apis/authentication.k8s.io/v1/tokenreviews`;
    const ca = readFileSync(join(daemon.dataDir, 'tls/ca.crt')).toString('base64');
    return {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'gitplane', cluster: { server, 'certificate-authority-data': ca } }],
      users: [{ name: 'agent', user: { token } }],
      contexts: [{ name: 'gitplane', context: { cluster: 'gitplane', user: 'agent' } }],
      'current-context': 'gitplane',
    };
  }

  describe('authentication by the OIDC authenticator', () => {
    test('accepts an endpoint token, with the groups of the platform', async () => {
      const token = await issued('offline', await bobsKey());
      expect(await cluster.whoIs(token)).toMatchObject({
        username: 'gitplane:bob',
        groups: ['gitplane:gitplane:user:bob', 'gitplane:dev', 'system:authenticated'],
      });
    });

    test('accepts no token for another cluster, nor one for all', async () => {
      expect(await cluster.whoIs(await issued('other'))).toBeUndefined();
      expect(await cluster.whoIs(await issued(undefined))).toBeUndefined();
    });

    test('accepts no access key', async () => {
      expect(await cluster.whoIs(daemon.token)).toBeUndefined();
    });

    test.each<[string, (claims: JWTPayload) => JWTPayload, boolean]>([
      ['as it is', (claims) => claims, true],
      ['of another issuer', (claims) => ({ ...claims, iss: 'https://127.0.0.1:1' }), false],
      ['for another audience', (claims) => ({ ...claims, aud: 'gitplane:cluster:x' }), false],
      ['that has ended', (claims) => ({ ...claims, exp: now() - 60 }), false],
      ['that has not begun', (claims) => ({ ...claims, nbf: now() + 3600 }), false],
      ['without a user', ({ sub: _sub, ...claims }) => claims, false],
    ])('judges a token %s that our key signed', async (_what, change, accepted) => {
      const claims = change(decodeJwt(await issued('offline')));
      const { kid, typ } = decodeProtectedHeader(await issued('offline'));
      const key = await importPKCS8(signingKey(), 'ES256');
      const header = { alg: 'ES256', ...(kid ? { kid } : {}), ...(typ ? { typ } : {}) };
      const token = await new SignJWT(claims).setProtectedHeader(header).sign(key);
      expect((await cluster.whoIs(token)) !== undefined).toBe(accepted);
    });

    test.each<[string, (parts: Parts) => string | Promise<string>]>([
      ['of no algorithm', ({ claims, kid }) => `${encoded({ alg: 'none', kid })}.${claims}.`],
      ['with the public key as the secret', symmetric],
      ['of another key with our key id', ({ claims, kid }) => byStranger(claims, kid)],
      ['of another key', ({ claims }) => byStranger(claims, randomUUID())],
      ['whose claims were changed', ({ token, claims }) => token.replace(claims, `${claims}e30`)],
    ])('accepts no token %s', async (_what, forge) => {
      const token = await issued('offline');
      const [, claims = ''] = token.split('.');
      const { kid = '' } = decodeProtectedHeader(token);
      expect(await cluster.whoIs(await forge({ token, claims, kid }))).toBeUndefined();
    });
  });

  describe('authentication by a TokenReview', () => {
    test('accepts an endpoint token, and knows its holder by the name that we use', async () => {
      const token = await issued('asking', await bobsKey());
      expect(await cluster.whoIs(token)).toMatchObject({
        username: 'bob',
        groups: ['gitplane:user:bob', 'dev', 'system:authenticated'],
      });
    });

    test('accepts no token for another cluster', async () => {
      expect(await cluster.whoIs(await issued('other'))).toBeUndefined();
    });

    test('refuses an ended token once its cache expires', async () => {
      const ends: readonly ((token: string, user: string) => Promise<unknown>)[] = [
        (token) => daemon.call('POST', '/token/revoke', { body: { token } }),
        (_token, user) => daemon.call('DELETE', `${API}/ownedaccesskeys/${user}`),
        (_token, user) => change(user, { tokenGeneration: 1 }),
        (_token, user) => change(user, { disabled: true }),
        (_token, user) => daemon.call('DELETE', `${API}/users/${user}`),
      ];
      const tokens: string[] = [];
      for (const [index, end] of ends.entries()) {
        const metadata = { name: `user-${index}` };
        await made(`${API}/users`, { metadata, spec: { groups: ['dev'] } });
        const { spec } = await made(`${API}/ownedaccesskeys`, {
          metadata,
          spec: { user: metadata.name },
        });
        const token = await issued('asking', spec.key);
        expect((await cluster.whoIs(token))?.username).toBe(metadata.name);
        await end(token, metadata.name);
        tokens.push(token);
      }
      // It keeps an answer for ten seconds, whatever the flags say.
      await vi.waitFor(
        async () => {
          const known = await Promise.all(tokens.map((token) => cluster.whoIs(token)));
          expect(known).toEqual(tokens.map(() => undefined));
        },
        { timeout: 25_000, interval: 500 },
      );
    });
  });
});

interface Parts {
  readonly token: string;
  /** As they stand in the token. */
  readonly claims: string;
  readonly kid: string;
}

function now(): number {
  return Math.floor(Date.now() / 1000);
}

function signingKey(): string {
  return readFileSync(join(daemon.dataDir, 'token-signing.key'), 'utf8');
}

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function symmetric({ claims, kid }: Parts): string {
  const text = `${encoded({ alg: 'HS256', kid })}.${claims}`;
  const secret = createPublicKey(signingKey()).export({ type: 'spki', format: 'pem' });
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
}

async function byStranger(claims: string, kid: string): Promise<string> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const payload = JSON.parse(Buffer.from(claims, 'base64url').toString()) as JWTPayload;
  return await new SignJWT(payload).setProtectedHeader({ alg: 'ES256', kid }).sign(privateKey);
}
