/** Access keys and endpoint tokens: shown once, kept nowhere in the clear, and good for no longer
 * than they say. */
import { spawnSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createLocalJWKSet, decodeJwt, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Answer, API, type Daemon, scratchDir, startDaemon } from '../support/daemon.ts';

const KEYS = `${API}/ownedaccesskeys`;
const TOKENS = `${API}/directclusterendpointtokens`;
const MERGE_PATCH = 'application/merge-patch+json';
const OWN_KEY = `${'my-own-key'}-0f8Zq3LmX7cVbN2kPdR5tYw`;

let daemon: Daemon;
/** Every clear key of the tests; none of them may be found anywhere. */
const clear: string[] = [OWN_KEY];

beforeAll(async () => {
  daemon = await startDaemon({ args: ['--endpoint-token-max-ttl', '7200'] });
});
afterAll(async () => {
  await daemon.stop();
});

function post(name: string, spec: object, query = ''): Promise<Answer> {
  return daemon.call('POST', KEYS + query, { body: { metadata: { name }, spec } });
}

/** Creates a key and returns its text. */
async function made(name: string, spec: object = {}): Promise<string> {
  const answer = await post(name, { user: 'admin', ...spec });
  expect(answer.code, answer.text).toBe(201);
  const { key } = answer.json().spec;
  clear.push(key);
  return key;
}

async function patched(path: string, body: object): Promise<Answer> {
  const answer = await daemon.call('PATCH', path, { body, type: MERGE_PATCH });
  expect(answer.code, answer.text).toBe(200);
  return answer;
}

/** The code of a request that needs rights on objects. */
async function codeWith(token: string, path = `${API}/teams`): Promise<number> {
  return (await daemon.call('GET', path, { token })).code;
}

describe('a key', () => {
  // covers: service.accessKeys OwnedAccessKey.spec.key authentication.bearer
  test('works at once, and is in no answer but the first', async () => {
    const { resourceVersion } = (await daemon.call('GET', KEYS)).json().metadata;
    const key = await made('shown-once');

    expect(key).toMatch(/^gpu_[0-9A-Za-z]{44}$/);
    expect(await codeWith(key)).toBe(200);
    const yaml = { headers: { accept: 'application/yaml' } };
    const table = { headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' } };
    const answers = await Promise.all([
      daemon.call('GET', `${KEYS}/shown-once`),
      daemon.call('GET', `${KEYS}/shown-once`, yaml),
      daemon.call('GET', KEYS),
      daemon.call('GET', KEYS, yaml),
      daemon.call('GET', `${KEYS}?includeObject=Object`, table),
      daemon.call('GET', `${KEYS}?watch=1&timeoutSeconds=1&resourceVersion=${resourceVersion}`),
      patched(`${KEYS}/shown-once`, { spec: { description: 'patched' } }),
      daemon.call('GET', '/metrics'),
    ]);
    for (const { code, text } of answers) {
      expect(code).toBe(200);
      expect(text).not.toContain(key);
      expect(text).not.toContain('sha256:');
    }
    expect(answers[5]?.text).toContain('"type":"ADDED"');
  });

  test('a key that the client chooses works; a new one replaces it', async () => {
    const answer = await post('own', { user: 'admin', key: OWN_KEY });
    expect(answer.code).toBe(201);
    expect(answer.text).not.toContain(OWN_KEY);
    expect(await codeWith(OWN_KEY)).toBe(200);

    const put = (spec: object): Promise<Answer> =>
      daemon.call('PUT', `${KEYS}/own`, { body: { metadata: { name: 'own' }, spec } });
    expect((await put({ user: 'admin', description: 'no key' })).code).toBe(200);
    expect(await codeWith(OWN_KEY)).toBe(200);
    const second = `${OWN_KEY}-two`;
    clear.push(second);
    expect((await put({ user: 'admin', key: second })).code).toBe(200);
    expect([await codeWith(OWN_KEY), await codeWith(second)]).toEqual([401, 200]);
  });

  // covers: OwnedAccessKey.spec.disabled authentication.disabled states.disabledKey
  test('is disabled, enabled and deleted with the next request', async () => {
    const key = await made('switched');
    await patched(`${KEYS}/switched`, { spec: { disabled: true } });
    const refused = await daemon.call('GET', `${API}/teams`, { token: key });
    expect([refused.code, refused.json().message]).toEqual([401, 'access key is disabled']);
    await patched(`${KEYS}/switched`, { spec: { disabled: null } });
    expect(await codeWith(key)).toBe(200);
    await daemon.call('DELETE', `${KEYS}/switched`);
    expect(await codeWith(key)).toBe(401);
  });

  // covers: OwnedAccessKey.spec.ttl OwnedAccessKey.spec.ttlAfterLastActivity
  // covers: authentication.limits states.activity
  test('ends with its ttl, unless that counts from its last use', async () => {
    const [short, used] = await Promise.all([
      made('short', { ttl: 2 }),
      made('used', { ttl: 2, ttlAfterLastActivity: true }),
    ]);
    expect([await codeWith(short), await codeWith(used)]).toEqual([200, 200]);
    await vi.waitFor(
      async () => {
        expect(await codeWith(used)).toBe(200);
        expect(await codeWith(short)).toBe(401);
      },
      { timeout: 5000, interval: 200 },
    );
    const { text } = await daemon.call('GET', `${API}/teams`, { token: short });
    expect(JSON.parse(text).message).toBe('access key expired. Please login again');
  });

  test('does not outlive its user, and cannot do more than its user', async () => {
    const users = `${API}/users`;
    await daemon.call('POST', users, { body: { metadata: { name: 'temp' }, spec: {} } });
    const key = await made('of-temp', { user: 'temp' });
    expect(await codeWith(key)).toBe(403);
    expect(await codeWith(key, '/version')).toBe(200);
    await patched(`${users}/temp`, { spec: { disabled: true } });
    expect(await codeWith(key)).toBe(401);
    await patched(`${users}/temp`, { spec: { disabled: false } });
    expect(await codeWith(key)).toBe(403);
    await daemon.call('DELETE', `${users}/temp`);
    expect(await codeWith(key)).toBe(401);
  });

  // covers: auth.accessKeyMaxTTLSeconds
  test('ends by the maximum lifetime where there is one', async () => {
    const warned = async (spec: object): Promise<string> => {
      const answer = await post('warned', { user: 'admin', ...spec }, '?dryRun=All');
      expect(answer.code, answer.text).toBe(201);
      return String(answer.headers['warning'] ?? '');
    };
    expect(await warned({})).toBe('');
    const spec = { raw: 'auth:\n  accessKeyMaxTTLSeconds: 600\n' };
    const config = { metadata: { name: 'aaa' }, spec };
    expect((await daemon.call('POST', `${API}/configs`, { body: config })).code).toBe(201);
    for (const more of [{}, { ttl: 601 }, { ttl: 60, ttlAfterLastActivity: true }]) {
      expect(await warned(more)).toContain('600 seconds after it was made');
    }
    expect(await warned({ ttl: 600 })).toBe('');
    expect((await daemon.call('DELETE', `${API}/configs/aaa`)).code).toBe(200);
  });

  // covers: OwnedAccessKey.spec.scope authentication.limits
  test('a key with a scope has limited rights', async () => {
    const key = await made('scoped', { scope: { projects: [{ project: 'storefront' }] } });
    expect(await codeWith(key)).toBe(403);
    const root = '/kubernetes/management';
    expect(await codeWith(key, `${root}/apis`)).toBe(200);
  });

  test('a key of a dry run is not created', async () => {
    const answer = await post('dry', { user: 'admin' }, '?dryRun=All');
    expect([answer.code, answer.json().spec]).toEqual([201, { user: 'admin' }]);
    expect((await daemon.call('GET', `${KEYS}/dry`)).code).toBe(404);
  });
});

describe('git', () => {
  test('holds hashes, and a hash does not authenticate', async () => {
    const clone = await daemon.clone();
    const manifest = await readFile(join(clone, 'ownedaccesskeys/shown-once.yaml'), 'utf8');
    const hash = /key: (sha256:[0-9a-f]{64})\n/.exec(manifest)?.[1] ?? '';
    expect(hash).toMatch(/^sha256:/);
    expect(await codeWith(hash)).toBe(401);
  });

  test('refuses a plaintext key with the hash to write, and the hash makes the key work', async () => {
    const clone = await daemon.clone();
    const key = `${OWN_KEY}-pushed`;
    clear.push(key);
    const file = join(clone, 'ownedaccesskeys/pushed.yaml');
    const manifest = (text: string): string =>
      `apiVersion: management.gitplane.dev/v1\nkind: OwnedAccessKey\nmetadata:\n  name: pushed\nspec:\n  user: admin\n  key: ${text}\n`;
    await writeFile(file, manifest(key));
    await daemon.git(['add', '.'], clone);
    await daemon.git(['commit', '-qm', 'A key in the clear'], clone);
    const refused = await daemon.git(['push'], clone);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(
      /ownedaccesskeys\/pushed\.yaml:7:8: .*must not be in git as plaintext/,
    );
    expect(refused.stderr).not.toContain(key);
    const hash = /sha256:[0-9a-f]{64}/.exec(refused.stderr)?.[0] ?? '';

    await writeFile(file, manifest(hash));
    await daemon.git(['commit', '-qa', '--amend', '-m', 'The hash of it'], clone);
    expect((await daemon.git(['push'], clone)).code).toBe(0);
    expect(await codeWith(key)).toBe(200);
  });
});

describe('an endpoint token', () => {
  const verify = async (token: string) => {
    const jwks = await daemon.call('GET', '/.well-known/jwks.json', { token: null });
    return await jwtVerify(token, createLocalJWKSet(jwks.json()), { algorithms: ['ES256'] });
  };

  // covers: DirectClusterEndpointToken.spec.ttl DirectClusterEndpointToken.status.token
  // covers: endpoints.directclusterendpointtokens.POST limits.endpointTokenTTL
  test('is a JWT that the published keys verify, for the time that was asked for', async () => {
    const { text } = await daemon.call('POST', TOKENS, { body: { spec: { ttl: 600 } } });
    const { status, spec } = JSON.parse(text);
    clear.push(status.token);
    const { payload } = await verify(status.token);
    expect(payload).toMatchObject({
      sub: 'admin',
      iss: expect.stringMatching(/^https:/),
      jti: expect.any(String),
    });
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(600);
    expect(spec.ttl).toBe(600);
    expect(await codeWith(status.token)).toBe(401);
  });

  test('lives as long as the operator lets it, and not for less than a minute', async () => {
    const long = await daemon.call('POST', TOKENS, { body: { spec: { ttl: 7_776_000 } } });
    expect([long.code, long.json().spec.ttl]).toEqual([201, 7200]);
    expect(String(long.headers['warning'])).toMatch(/ttl/);
    const short = await daemon.call('POST', TOKENS, { body: { spec: { ttl: 5 } } });
    expect([short.code, short.json().details.causes[0].field]).toEqual([422, 'spec.ttl']);
  });

  test('does not outlive the key that asked for it', async () => {
    const key = await made('short-lived', { ttl: 120 });
    const answer = await daemon.call('POST', TOKENS, { body: { spec: { ttl: 3600 } }, token: key });
    expect(answer.code).toBe(201);
    expect(answer.json().spec.ttl).toBeLessThanOrEqual(120);
  });
});

describe('an endpoint token that is ended before its time', () => {
  const issue = async (): Promise<string> =>
    (await daemon.call('POST', TOKENS, { body: {} })).json().status.token;
  const revoke = (body: object, token?: string) =>
    daemon.call('POST', '/token/revoke', token === undefined ? { body } : { body, token });
  const revoked = async (): Promise<string[]> =>
    // biome-ignore lint/suspicious/noExplicitAny: an answer
    (await daemon.call('GET', '/token/revocations')).json().revoked.map((one: any) => one.jti);

  test('is on the list that verifiers fetch; its holder may end it', async () => {
    const shown = await issue();
    const { jti } = decodeJwt(shown);
    expect(await revoked()).not.toContain(jti);
    expect((await revoke({ token: shown }, await made('revoker', {}))).code).toBe(200);
    expect(await revoked()).toContain(jti);
  });

  test('can be ended by its id by users who may delete tokens', async () => {
    expect((await revoke({ jti: 'lost' })).code).toBe(200);
    expect(await revoked()).toContain('lost');
    const user = { metadata: { name: 'nobody' } };
    expect((await daemon.call('POST', `${API}/users`, { body: user })).code).toBe(201);
    const answer = await daemon.call('POST', `${API}/ownedaccesskeys`, {
      body: { spec: { user: 'nobody' } },
    });
    const key = answer.json().spec.key;
    clear.push(key);
    expect((await revoke({ jti: 'other' }, key)).code).toBe(403);
    expect((await daemon.call('GET', '/token/revocations', { token: key })).code).toBe(403);
    expect(await revoked()).not.toContain('other');
  });

  test.each([
    ['that is none', { token: 'x.y.z' }, 400],
    ['of nothing', {}, 400],
    ['of a number', { jti: 1 }, 400],
  ])('%s is refused', async (_what, body, code) => {
    expect((await revoke(body)).code).toBe(code);
  });

  test('needs a key to be ended', async () => {
    const answer = await daemon.call('POST', '/token/revoke', { body: { jti: 'x' }, token: null });
    expect(answer.code).toBe(401);
  });
});

describe('an endpoint token of a key', () => {
  const SERVED = '/kubernetes/virtualcluster/blue/api/v1/secrets';
  const remove = async (name: string) => await daemon.call('DELETE', `${KEYS}/${name}`);

  beforeAll(async () => {
    const clone = await daemon.clone();
    await mkdir(join(clone, 'tenants', 'blue'), { recursive: true });
    await writeFile(join(clone, 'tenants', 'blue', 'vcluster.yaml'), 'sync: {}\n');
    await daemon.git(['add', '-A'], clone);
    await daemon.git(['commit', '-qm', 'A tenant'], clone);
    expect((await daemon.git(['push'], clone)).code).toBe(0);
  });

  // covers: DirectClusterEndpointToken.status.token
  test.each<[string, (name: string, text: string) => Promise<unknown>]>([
    ['deleted and made again', async (name) => [await remove(name), await made(name)]],
    [
      'deleted and made again with its former text',
      async (name, key) => [await remove(name), await post(name, { user: 'admin', key })],
    ],
    [
      'given another text',
      async (name) => await patched(`${KEYS}/${name}`, { spec: { key: `${name}-${OWN_KEY}` } }),
    ],
  ])('an endpoint token of a key that was %s is refused', async (how, replace) => {
    const name = how.replaceAll(' ', '-');
    const text = await made(name);
    const { token } = (await daemon.call('POST', TOKENS, { body: {}, token: text })).json().status;
    clear.push(token, `${name}-${OWN_KEY}`);
    const review = async (): Promise<unknown> => {
      const at = '/kubernetes/management/apis/authentication.k8s.io/v1/tokenreviews';
      const { status } = (await daemon.call('POST', at, { body: { spec: { token } } })).json();
      return status.authenticated ?? false;
    };
    const judged = async (): Promise<unknown[]> => [await codeWith(token, SERVED), await review()];
    await patched(`${KEYS}/${name}`, { metadata: { labels: { a: 'b' } }, spec: { ttl: 3600 } });
    expect(await judged()).toEqual([200, true]);
    await replace(name, text);
    expect((await daemon.call('GET', `${KEYS}/${name}`)).code).toBe(200);
    expect(await judged()).toEqual([401, false]);
  });
});

test('a cluster finds the keys, and the command line says what a token claims', async () => {
  const found = await daemon.call('GET', '/.well-known/openid-configuration', { token: null });
  const { issuer, jwks_uri } = found.json();
  expect(jwks_uri).toBe(`${issuer}/.well-known/jwks.json`);

  const file = join(scratchDir(), 'jwks.json');
  await writeFile(file, (await daemon.call('GET', '/.well-known/jwks.json')).text);
  const { status } = (await daemon.call('POST', TOKENS, { body: {} })).json();
  const verify = (token: string, ...args: string[]) =>
    spawnSync(process.execPath, ['dist/main.js', 'token', 'verify', '--jwks', file, ...args], {
      input: token,
      encoding: 'utf8',
    });
  const good = verify(status.token, '--audience', 'gitplane:clusters');
  expect([good.status, JSON.parse(good.stdout)]).toMatchObject([0, { iss: issuer, sub: 'admin' }]);
  const other = verify(status.token, '--audience', 'gitplane:cluster:other');
  expect([other.status, other.stdout]).toMatchObject([1, expect.stringContaining('aud')]);
  const forged = verify(`${status.token.slice(0, -4)}AAAA`);
  expect([forged.status, forged.stdout]).toMatchObject([1, expect.stringContaining('signature')]);
});

test('no key and no token is anywhere in the repository, its history or the log', async () => {
  const repository = join(daemon.dataDir, 'repo.git');
  const { stdout } = await daemon.git(['log', '-p', '--all', '--format=fuller'], repository);
  expect(stdout).toContain('short-lived');
  const places = [stdout, daemon.output()];
  expect(clear.length).toBeGreaterThan(8);
  for (const secret of clear) {
    for (const place of places) expect(place.includes(secret)).toBe(false);
  }
});
