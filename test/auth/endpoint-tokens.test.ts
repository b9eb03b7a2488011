import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify, SignJWT } from 'jose';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { formatFieldError } from '../../src/apimachinery/field-error.ts';
import type { User } from '../../src/apimachinery/request.ts';
import {
  audiences,
  EndpointTokens,
  type IssuedToken,
  type TokenRequest,
} from '../../src/auth/endpoint-tokens/endpoint-tokens.ts';
import { Scope } from '../../src/auth/scope/scope.ts';
import type { SigningKeys } from '../../src/auth/signing-keys/key-ring.ts';
import { openSigningKey, type SigningKey } from '../../src/auth/signing-keys/signing-key.ts';

const ISSUER = 'https://gitplane.example.com';
const START = Date.parse('2026-01-01T00:00:00Z');
const ann: User = {
  name: 'ann',
  uid: 'uid-ann',
  email: 'ann@example.com',
  accessKey: 'k1',
  groups: ['system:authenticated', 'system:masters', 'gitplane:user:ann', 'dev'],
};

let directory: string;
let file: string;
let now: number;
let key: SigningKey;
let tokens: EndpointTokens;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gitplane-tokens-'));
  file = join(directory, 'endpoint-token.key');
  key = await openSigningKey(file);
  now = START;
  tokens = new EndpointTokens({ keys: single(), issuer: ISSUER, clock: { now: () => now } });
});

afterEach(async () => {
  await rm(directory, { recursive: true });
});

/** A ring of one key. */
function single(): SigningKeys {
  return { current: () => key, published: () => [key] };
}

function asked(fields: Partial<TokenRequest> = {}): TokenRequest {
  const owner = { kind: 'User', name: 'ann', generation: 3 } as const;
  return { user: ann, owner, keyId: 'id-k1', ...fields };
}

async function issue(fields: Partial<TokenRequest> = {}): Promise<IssuedToken> {
  const result = await tokens.issue(asked(fields));
  if ('errors' in result) throw new Error(result.errors.map(formatFieldError).join());
  return result;
}

async function problems(fields: Partial<TokenRequest>): Promise<string[]> {
  const result = await tokens.issue(asked(fields));
  return 'errors' in result ? result.errors.map(formatFieldError) : [];
}

describe('a token', () => {
  test('names its user, audience, expiry and scope', async () => {
    const scope = { clusters: [{ cluster: 'c1' }] };
    const issued = await issue({ scope });
    expect(await tokens.verify(issued.token, 'gitplane:cluster:c1')).toEqual({
      iss: ISSUER,
      sub: 'ann',
      aud: ['gitplane:cluster:c1'],
      iat: START / 1000,
      nbf: START / 1000,
      exp: START / 1000 + 3600,
      jti: issued.id,
      email: 'ann@example.com',
      groups: ['gitplane:user:ann', 'dev'],
      gitplane: {
        ...{ kind: 'User', name: 'ann', uid: 'uid-ann', gen: 3 },
        ...{ key: 'k1', keyId: 'id-k1', scope },
      },
    });
    expect(issued).toMatchObject({
      ttlSeconds: 3600,
      expiresAt: START + 3_600_000,
      warnings: [],
    });
  });

  test('carries no group of the system: it would mean something else in another cluster', async () => {
    const { token } = await issue();
    const claims = await tokens.verify(token, 'gitplane:clusters');
    expect(JSON.stringify(claims)).not.toContain('system:');
  });

  // covers: service.endpointTokens DirectClusterEndpointToken.status.token
  test('is verified by others with the published keys', async () => {
    const { token } = await issue();
    const keys = createLocalJWKSet(tokens.jwks());
    const options = { issuer: ISSUER, audience: 'gitplane:clusters', currentDate: new Date(now) };
    await expect(jwtVerify(token, keys, options)).resolves.toBeDefined();
    expect(decodeProtectedHeader(token)).toEqual({
      alg: 'ES256',
      typ: 'direct-endpoint+jwt',
      kid: tokens.jwks().keys[0]?.kid,
    });
  });

  test('has an id of its own', async () => {
    const [a, b] = [await issue(), await issue()];
    expect(a.id).not.toBe(b.id);
    expect(a.token).not.toBe(b.token);
  });
});

test('publishes only the public half of its key', () => {
  const { keys } = tokens.jwks();
  expect(keys).toHaveLength(1);
  expect(Object.keys(keys[0] ?? {}).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
});

describe('a token does not pass', () => {
  const sign = (fields: Record<string, unknown>, header: Record<string, unknown>, secret = key) =>
    new SignJWT({
      iss: ISSUER,
      aud: 'gitplane:clusters',
      sub: 'ann',
      jti: 'x',
      exp: START / 1000 + 60,
      ...fields,
    })
      .setProtectedHeader({ alg: 'ES256', typ: 'direct-endpoint+jwt', ...header })
      .sign(secret.privateKey);
  const good = 'gitplane:clusters';

  test.each<[string, () => Promise<string> | string]>([
    ['for another audience', () => sign({ aud: 'gitplane:cluster:other' }, {})],
    ['from another issuer', () => sign({ iss: 'https://evil.example.com' }, {})],
    ['without an end', () => sign({ exp: undefined }, {})],
    // covers: DirectClusterEndpointToken.spec.ttl
    ['after its end', () => sign({ exp: START / 1000 - 60 }, {})],
    ['before its time', () => sign({ nbf: START / 1000 + 60 }, {})],
    ['without an id', () => sign({ jti: undefined }, {})],
    ['without a subject', () => sign({ sub: undefined }, {})],
    ['of another type', () => sign({}, { typ: 'JWT' })],
    ['without a type', () => sign({}, { typ: undefined })],
    ['signed by another key', () => sign({}, {}, otherKey())],
    ['that says it is not signed', () => unsigned()],
    ['signed with the public key as a secret', () => symmetric()],
    ['that is no token', () => 'x.y.z'],
  ])('%s', async (_claim, make) => {
    await expect(tokens.verify(await make(), good)).rejects.toThrow();
    await expect(tokens.verify(await sign({}, {}), good)).resolves.toBeDefined();
  });

  function otherKey(): SigningKey {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    return { ...key, privateKey, publicKey: createPublicKey(privateKey) };
  }

  function unsigned(): string {
    const part = (value: object): string =>
      Buffer.from(JSON.stringify(value)).toString('base64url');
    const claims = { iss: ISSUER, aud: good, sub: 'ann', jti: 'x', exp: START / 1000 + 60 };
    return `${part({ alg: 'none', typ: 'direct-endpoint+jwt' })}.${part(claims)}.`;
  }

  function symmetric(): Promise<string> {
    const secret = Buffer.from(key.publicKey.export({ type: 'spki', format: 'pem' }));
    return new SignJWT({ iss: ISSUER, aud: good, sub: 'ann', jti: 'x', exp: START / 1000 + 60 })
      .setProtectedHeader({ alg: 'HS256', typ: 'direct-endpoint+jwt' })
      .sign(secret);
  }
});

describe('the ttl', () => {
  const hour = 3600;

  test.each<[string, Partial<TokenRequest>, number, string[]]>([
    ['is an hour when absent', {}, hour, []],
    ['is an hour when 0', { ttl: 0 }, hour, []],
    ['is what was asked', { ttl: 60 }, 60, []],
    ['may be the maximum', { ttl: 86_400 }, 86_400, []],
    [
      'is cut to the maximum',
      { ttl: 7_776_000 },
      86_400,
      ['spec.ttl: 7776000 was cut to 86400 seconds, the maximum'],
    ],
    [
      'is cut to the rest of the access key',
      { ttl: 600, keyExpiresAt: START + 30_500 },
      30,
      ['spec.ttl: 600 was cut to 30 seconds, what is left of the access key that asked for it'],
    ],
    ['is not cut by a key that lives longer', { ttl: 600, keyExpiresAt: START + 600_000 }, 600, []],
    ['is not cut by a key without end', { ttl: 600, keyExpiresAt: Infinity }, 600, []],
  ])('%s', async (_claim, fields, ttlSeconds, warnings) => {
    const issued = await issue(fields);
    expect(issued).toMatchObject({ ttlSeconds, warnings, expiresAt: START + ttlSeconds * 1000 });
    now = issued.expiresAt - 1;
    await expect(tokens.verify(issued.token, 'gitplane:clusters')).resolves.toBeDefined();
    now = issued.expiresAt;
    await expect(tokens.verify(issued.token, 'gitplane:clusters')).rejects.toThrow('exp');
  });

  test('the default ttl does not exceed a small maximum, without a warning', async () => {
    const clock = { now: () => now };
    tokens = new EndpointTokens({ keys: single(), issuer: ISSUER, clock, maxTtlSeconds: 300 });
    expect(await issue()).toMatchObject({ ttlSeconds: 300, warnings: [] });
  });

  // covers: limits.endpointTokenTTL
  test.each([
    [-1, 'spec.ttl: Invalid value: -1: must be at least 60 seconds, or 0 for the default'],
    [59, 'spec.ttl: Invalid value: 59: must be at least 60 seconds, or 0 for the default'],
    [60.5, 'spec.ttl: Invalid value: 60.5: must be a whole number of seconds'],
    [1e300, 'spec.ttl: Invalid value: 1e+300: must be a whole number of seconds'],
    [Number.NaN, 'spec.ttl: Invalid value: null: must be a whole number of seconds'],
  ])('the ttl of %s is refused', async (ttl, message) => {
    expect(await problems({ ttl })).toEqual([message]);
  });
});

describe('the audience of a scope', () => {
  const everywhere = 'gitplane:clusters';
  const scoped = 'gitplane:scoped-clusters';

  test.each<[string, Parameters<typeof audiences>[0], string[]]>([
    ['that is absent is every cluster', undefined, [everywhere]],
    // covers: DirectClusterEndpointToken.spec.scope
    [
      'names its clusters',
      { clusters: [{ cluster: 'a' }, { cluster: 'b' }, { cluster: 'a' }] },
      ['gitplane:cluster:a', 'gitplane:cluster:b'],
    ],
    ['of * is every cluster', { clusters: [{ cluster: '*' }] }, [everywhere]],
    [
      'with more than clusters is also for who reads scopes',
      { clusters: [{ cluster: 'a' }], projects: [{ project: 'p' }] },
      ['gitplane:cluster:a', scoped],
    ],
    ['without clusters is only for who reads scopes', { projects: [{ project: '*' }] }, [scoped]],
    ['with a role only likewise', { roles: [{ role: 'agent' }], clusters: [] }, [scoped]],
    ['with allowPlatformCli likewise', { allowPlatformCli: true }, [scoped]],
    [
      'with empty lists beside its clusters is those clusters',
      { clusters: [{ cluster: 'a' }], projects: [], allowPlatformCli: false },
      ['gitplane:cluster:a'],
    ],
    ['that says nothing is never every cluster', {}, [scoped]],
    ['of a wrong shape is never every cluster', { clusters: '*' }, [scoped]],
  ])('%s', (_claim, scope, expected) => {
    expect(audiences(scope)).toEqual(expected);
  });
});

describe('the scope of the access key that asks', () => {
  const keyScope = { clusters: [{ cluster: 'a' }, { cluster: 'b' }] };
  const context = { group: 'g', projectPrefix: () => 'p-', isNamespaced: () => false };
  const scoped = { ...ann, scope: new Scope(keyScope, context) };

  test('is that of the token when it names none', async () => {
    const { token } = await issue({ user: scoped });
    const claims = await tokens.verify(token, 'gitplane:cluster:a');
    expect(claims['gitplane']).toMatchObject({ scope: keyScope });
    await expect(tokens.verify(token, 'gitplane:clusters')).rejects.toThrow('aud');
  });

  test.each([
    ['the same', keyScope],
    ['a part of it', { clusters: [{ cluster: 'b' }] }],
  ])('can be narrowed to %s', async (_claim, scope) => {
    expect(await problems({ user: scoped, scope })).toEqual([]);
  });

  test.each([
    ['a wider one', { clusters: [{ cluster: '*' }] }],
    ['another one', { clusters: [{ cluster: 'c' }] }],
    ['another list', { projects: [{ project: 'a' }] }],
    ['a verb that means all elsewhere', { rules: [{ verbs: ['*'], cluster: 'a' }] }],
    ['a role that means more elsewhere', { roles: [{ role: 'metrics-writer' }] }],
  ])('cannot be left by naming %s', async (_claim, scope) => {
    expect(await problems({ user: scoped, scope })).toEqual([
      'spec.scope: Forbidden: must be within the scope of the access key that asks; leave it out for the same',
    ]);
  });
});

test('a scope that makes a token too long for a header is refused', async () => {
  const clusters = Array.from({ length: 500 }, (_, i) => ({ cluster: `cluster-${i}` }));
  expect(await problems({ scope: { clusters } })).toEqual([
    'spec.scope: Forbidden: makes a token of more than 8192 bytes; name fewer things',
  ]);
});

describe('the signing key', () => {
  test('is made once, for its owner only, and found again', async () => {
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const before = await readFile(file, 'utf8');
    expect((await openSigningKey(file)).kid).toBe(key.kid);
    expect(await readFile(file, 'utf8')).toBe(before);
  });

  test('is one and the same when two processes make it at once', async () => {
    const path = join(directory, 'second.key');
    const both = await Promise.all([openSigningKey(path), openSigningKey(path)]);
    expect(both[0].kid).toBe(both[1].kid);
  });

  const pem = (type: 'ec' | 'ed25519', curve: string): string => {
    const { privateKey } =
      type === 'ec'
        ? generateKeyPairSync('ec', { namedCurve: curve })
        : generateKeyPairSync('ed25519');
    return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  };

  test.each([
    ['is empty', ''],
    ['is no PEM', 'hunter2-not-a-key'],
    ['is of another curve', pem('ec', 'P-384')],
    ['is of another kind', pem('ed25519', '')],
  ])(
    'a signing key that %s causes an error that names the file and the remedy',
    async (_claim, text) => {
      await writeFile(file, text);
      const error = await openSigningKey(file).catch((reason: unknown) => String(reason));
      expect(error).toContain(`${file} is not a private key for ES256`);
      expect(error).toContain('remove it to get a new one');
      if (text !== '') expect(error).not.toContain(text);
    },
  );
});
