/** Endpoint tokens at served clusters: as whom they act, and when they stop. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/apimachinery/object.ts';
import type { Authenticated } from '../../src/auth/access-keys/access-key-index.ts';
import { EndpointTokens } from '../../src/auth/endpoint-tokens/endpoint-tokens.ts';
import { TokenHolders } from '../../src/auth/endpoint-tokens/token-holders.ts';
import type { PermitContext } from '../../src/auth/scope/permits.ts';
import { Scope, scopeOf } from '../../src/auth/scope/scope.ts';
import { openSigningKey, type SigningKey } from '../../src/auth/signing-keys/signing-key.ts';

const START = Date.parse('2026-01-01T00:00:00Z');
const ISSUER = 'https://gitplane.example.com';
const scopes: PermitContext = {
  group: 'management.gitplane.dev',
  projectPrefix: () => 'p-',
  isNamespaced: () => false,
};
const EAST: JsonObject = { clusters: [{ cluster: 'east' }] };
const BOTH: JsonObject = { clusters: [{ cluster: 'east' }, { cluster: 'west' }] };

let directory: string;
let signing: SigningKey;
let now: number;
let voided: string | undefined;
let key: Authenticated | undefined;
let tokens: EndpointTokens;
let holders: TokenHolders;

function keyOf(user: object = {}, name = 'ann'): Authenticated {
  return {
    authenticated: true,
    user: { name, uid: `uid-${name}`, groups: ['dev'], accessKey: 'k1', ...user },
    owner: { kind: 'User', name, generation: 0 },
    keyId: 'id-k1',
    keyExpiresAt: Number.POSITIVE_INFINITY,
  };
}

function scoped(scope: JsonObject): { scope: Scope } {
  return { scope: new Scope(scope, scopes) };
}

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gitplane-holders-'));
  signing = await openSigningKey(join(directory, 'key'));
  now = START;
  voided = undefined;
  key = keyOf();
  const clock = { now: () => now };
  const keys = { current: () => signing, published: () => [signing] };
  tokens = new EndpointTokens({ keys, issuer: ISSUER, clock });
  const verify = (token: string) => tokens.verify(token);
  const keyHolder = (name: string) => (name === 'k1' ? key : undefined);
  holders = new TokenHolders({ verify, voidReason: () => voided, keyHolder, scopes, clock });
});

afterEach(() => rm(directory, { recursive: true }));

async function issue(scope?: JsonObject, ttl = 60): Promise<string> {
  if (key === undefined) throw new Error('no key');
  const issued = await tokens.issue({ ...key, ttl, scope });
  if ('errors' in issued) throw new Error('refused');
  return issued.token;
}

/** The name of its user, or why there is none. */
async function asked(token: string): Promise<string | undefined> {
  await holders.prepare(token);
  const found = holders.authenticate(token);
  return found && ('user' in found ? found.user.name : found.message);
}

test('acts as its key does now, with the groups of today', async () => {
  const token = await issue();
  expect(await asked(token)).toBe('ann');
  key = keyOf({ groups: ['ops'] });
  expect(holders.prepare(token)).toBeUndefined();
  expect(holders.authenticate(token)).toMatchObject({ user: { groups: ['ops'] } });
});

test('ends at the millisecond that its time ends, without leeway', async () => {
  const [early, late] = [await issue(), await issue(undefined, 61)];
  expect(await asked(early)).toBe('ann');
  now = START + 59_999;
  expect(await asked(early)).toBe('ann');
  now = START + 60_000;
  expect(await asked(early)).toBe('the endpoint token has ended; ask for a new one');
  // Asked again, it is verified anew.
  expect(await asked(early)).toBe('Unauthorized');
  now = START + 61_000;
  expect(await asked(late)).toBe('Unauthorized');
});

describe('the scope', () => {
  test('is that of the token, and never wider than that of its key', async () => {
    key = keyOf(scoped(BOTH));
    const [east, both] = [await issue(EAST), await issue()];
    const scopeNow = async (token: string): Promise<unknown> => {
      await holders.prepare(token);
      const found = holders.authenticate(token);
      return found !== undefined && 'user' in found ? scopeOf(found.user)?.source : found?.message;
    };
    expect(await scopeNow(east)).toEqual(EAST);
    expect(await scopeNow(both)).toEqual(BOTH);
    key = keyOf(scoped(EAST));
    expect(await scopeNow(east)).toEqual(EAST);
    expect(await scopeNow(both)).toContain('narrower scope by now');
    key = keyOf();
    expect(await scopeNow(both)).toEqual(BOTH);
  });

  test('a scope that the key gets later ends a token without one', async () => {
    const token = await issue();
    expect(await asked(token)).toBe('ann');
    key = keyOf(scoped(EAST));
    expect(await asked(token)).toContain('narrower scope by now');
  });
});

describe('stops', () => {
  test.each<[string, () => void, string]>([
    ['when it is revoked', () => (voided = 'the token was revoked'), 'the token was revoked'],
    ['when its key does not work', () => (key = undefined), 'Unauthorized'],
    ['when its key is of somebody else', () => (key = keyOf({}, 'bob')), 'another user by now'],
    [
      'when another user has the name',
      () => (key = keyOf({ uid: 'another' })),
      'another user by now',
    ],
  ])('%s', async (_claim, change, message) => {
    const token = await issue();
    expect(await asked(token)).toBe('ann');
    change();
    expect(await asked(token)).toContain(message);
  });

  test('nothing that is signed otherwise begins to count', async () => {
    const token = await issue();
    const [head, body, signature = ''] = token.split('.');
    const forged = `${head}.${body}.${signature.split('').reverse().join('')}`;
    expect(await asked(forged)).toBe('Unauthorized');
    const other = new EndpointTokens({
      keys: { current: () => signing, published: () => [signing] },
      issuer: 'https://another.example.com',
      clock: { now: () => now },
    });
    const issued = await other.issue(keyOf());
    expect(await asked('token' in issued ? issued.token : '')).toBe('Unauthorized');
  });

  test('a text of another form is left to others', async () => {
    expect(holders.prepare('gpu_abc')).toBeUndefined();
    expect(holders.authenticate('gpu_abc')).toBeUndefined();
  });
});
