import { timingSafeEqual } from 'node:crypto';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { rfc3339 } from '../../src/apimachinery/clock.ts';
import type { JsonObject, KubeObject } from '../../src/apimachinery/object.ts';
import { AccessKeyIndex } from '../../src/auth/access-keys/access-key-index.ts';
import type { KeyLifetimeLimits } from '../../src/auth/access-keys/key-lifetime.ts';
import { ActivityTracker } from '../../src/auth/access-keys/last-use.ts';
import { DirectoryIndex } from '../../src/auth/identity/directory.ts';
import { Scope } from '../../src/auth/scope/scope.ts';
import { concealAccessKey, mintAccessKey } from '../../src/kinds/credentials/access-key.ts';

vi.mock('node:crypto', async (importOriginal) => {
  const original = await importOriginal<typeof import('node:crypto')>();
  return { ...original, timingSafeEqual: vi.fn(original.timingSafeEqual) };
});

const START = Date.parse('2026-01-01T00:00:00Z');
const UNKNOWN = { authenticated: false, reason: 'unknown', message: 'Unauthorized' };

let now: number;
let limits: KeyLifetimeLimits;
let directory: DirectoryIndex;
let activity: ActivityTracker;
let keys: AccessKeyIndex;

beforeEach(() => {
  now = START;
  limits = {};
  directory = new DirectoryIndex();
  activity = new ActivityTracker({ save: () => undefined, onError: () => undefined });
  keys = new AccessKeyIndex({
    directory,
    activity,
    limits: () => limits,
    clock: { now: () => now },
    scopes: { group: 'g', projectPrefix: () => 'p-', isNamespaced: () => false },
  });
  setUser('ann');
  vi.mocked(timingSafeEqual).mockClear();
});

function setUser(name: string, spec: JsonObject = {}): void {
  directory.setUser({ apiVersion: 'g/v1', kind: 'User', metadata: { name }, spec });
}

function keyObject(name: string, spec: JsonObject, meta: KubeObject['metadata'] = {}): KubeObject {
  const metadata = { name, uid: `uid-${name}`, creationTimestamp: rfc3339(START), ...meta };
  return { apiVersion: 'g/v1', kind: 'OwnedAccessKey', metadata, spec };
}

/** Adds a key of ann and returns its text. */
function add(name: string, spec: JsonObject = {}, token = mintAccessKey('gpu')): string {
  keys.set(name, keyObject(name, { user: 'ann', ...spec }), { key: concealAccessKey(token) });
  return token;
}

/** `ok`, or why not. */
function verdict(token: string): string {
  const result = keys.authenticate(token);
  return result.authenticated ? 'ok' : result.reason;
}

describe('a key', () => {
  test('authenticates its owner', () => {
    const token = add('k1', { scope: { roles: [{ role: 'agent' }] }, ttl: 60 });
    expect(keys.authenticate(token)).toEqual({
      authenticated: true,
      user: {
        name: 'ann',
        accessKey: 'k1',
        groups: ['system:authenticated', 'gitplane:user:ann'],
        scope: expect.any(Scope),
      },
      owner: { kind: 'User', name: 'ann', generation: 0 },
      keyId: keys.idOf('k1'),
      keyExpiresAt: START + 60_000,
    });
  });

  test('a key that the client chose authenticates', () => {
    expect(verdict(add('k1', {}, 'correct-horse-battery-staple-0123456789'))).toBe('ok');
  });

  test.each<[string, (token: string) => string]>([
    ['another key', () => mintAccessKey('gpu')],
    [
      'a wrong last character',
      (token) => `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`,
    ],
    ['a missing character', (token) => token.slice(0, -1)],
    ['a character more', (token) => `${token}0`],
    ['a space before it', (token) => ` ${token}`],
    ['other letter case', (token) => token.toUpperCase()],
    ['nothing', () => ''],
    ['the hash that git holds', (token) => concealAccessKey(token)],
    ['the digits of that hash', (token) => concealAccessKey(token).slice('sha256:'.length)],
    ['a megabyte', () => 'x'.repeat(1 << 20)],
    ['an object of JavaScript', () => '__proto__'],
  ])('is not taken for %s', (_claim, change) => {
    const token = add('k1');
    expect(keys.authenticate(change(token))).toEqual(UNKNOWN);
    expect(verdict(token)).toBe('ok');
  });

  test('a key without a valid hash does not authenticate', () => {
    const token = mintAccessKey('gpu');
    const object = keyObject('k1', { user: 'ann' });
    for (const hidden of [undefined, {}, { key: token }, { key: '' }, { key: 'sha256:' }]) {
      keys.set('k1', object, hidden);
      expect(verdict(token)).toBe('unknown');
      expect(verdict('')).toBe('unknown');
    }
  });

  test('a key that is removed, replaced or being deleted stops at once', () => {
    const first = add('k1');
    const second = add('k1');
    expect([verdict(first), verdict(second)]).toEqual(['unknown', 'ok']);
    keys.remove('k1');
    expect(verdict(second)).toBe('unknown');
    const metadata = { deletionTimestamp: rfc3339(START) };
    keys.set('k1', keyObject('k1', { user: 'ann' }, metadata), { key: concealAccessKey(second) });
    expect(verdict(second)).toBe('unknown');
  });
});

describe('a key that was just used', () => {
  const later = (milliseconds: number): void => {
    now += milliseconds;
  };
  const uses: readonly [string, (token: string) => void, string][] = [
    ['is removed', () => keys.remove('k1'), 'unknown'],
    ['is disabled', (token) => void add('k1', { disabled: true }, token), 'disabled'],
    ['gets another text', () => void add('k1'), 'unknown'],
    ['loses its user', () => directory.removeUser('ann'), 'owner-missing'],
    ['ends', () => later(61_000), 'expired'],
  ];

  test.each(uses)('does not work any more when it %s', (_what, change, expected) => {
    const token = add('k1', { ttl: 60 });
    expect(verdict(token)).toBe('ok');
    change(token);
    expect(verdict(token)).toBe(expected);
  });

  test('goes on working among many others', () => {
    const tokens = Array.from({ length: 5000 }, (_, i) =>
      add(`k${i}`, {}, `${i}`.padEnd(40, 'abcdefgh')),
    );
    for (const token of [...tokens, ...tokens]) expect(verdict(token)).toBe('ok');
  });
});

describe('the comparison takes the same time', () => {
  test.each<[string, () => string, number]>([
    ['for a known key', () => add('k1'), 1],
    ['for an unknown key', () => mintAccessKey('gpu'), 1],
    ['for a foreign word', () => 'correct-horse-battery-staple-0123456789', 1],
    ['for a mistyped key', () => `gpu_${'0'.repeat(44)}`, 1],
    ['and is left out for a text that cannot be a key', () => 'x'.repeat(1025), 0],
  ])('%s', (_claim, token, times) => {
    keys.authenticate(token());
    expect(timingSafeEqual).toHaveBeenCalledTimes(times);
  });
});

describe('errors for the holder of a real key', () => {
  test.each<[string, JsonObject, string, string]>([
    ['disabled', { disabled: true }, 'disabled', 'access key is disabled'],
    ['expired', { ttl: 1 }, 'expired', 'access key expired. Please login again'],
    ['both', { disabled: true, ttl: 1 }, 'disabled', 'access key is disabled'],
    [
      'a refresh token',
      { type: 'OIDCRefreshToken' },
      'not-for-requests',
      'access key is of a type that makes no API requests',
    ],
    [
      'a password reset',
      { type: 'Reset' },
      'not-for-requests',
      'access key is of a type that makes no API requests',
    ],
    [
      'without an owner',
      { user: 'bob' },
      'owner-missing',
      'the user of this access key does not exist',
    ],
  ])('the holder of a real key reads that it is %s', (_claim, spec, reason, message) => {
    const token = add('k1', spec);
    now += 5000;
    expect(keys.authenticate(token)).toEqual({ authenticated: false, reason, message });
    expect(activity.lastUse('k1')).toBeUndefined();
  });

  test('the holder of a real key reads that its user is disabled, and when it no longer is', () => {
    const token = add('k1');
    expect(verdict(token)).toBe('ok');
    setUser('ann', { disabled: true });
    expect(keys.authenticate(token)).toMatchObject({
      reason: 'owner-disabled',
      message: 'the user of this access key is disabled',
    });
    setUser('ann');
    expect(verdict(token)).toBe('ok');
    directory.removeUser('ann');
    expect(verdict(token)).toBe('owner-missing');
  });
});

test('team membership acts on the next request', () => {
  const token = add('k1');
  const teams = (): string[] => {
    const result = keys.authenticate(token);
    const groups = result.authenticated ? result.user.groups : [];
    return groups.filter((group) => group.startsWith('gitplane:team:'));
  };
  const team = (users: string[]): KubeObject => ({
    apiVersion: 'g/v1',
    kind: 'Team',
    metadata: { name: 'ops' },
    spec: { users },
  });
  expect(teams()).toEqual([]);
  directory.setTeam(team(['ann']));
  expect(teams()).toEqual(['gitplane:team:ops']);
  directory.setTeam(team([]));
  expect(teams()).toEqual([]);
});

test('a user object is shared by requests as long as nothing changed', () => {
  const token = add('k1');
  const [first, second] = [keys.authenticate(token), keys.authenticate(token)];
  expect(first.authenticated && second.authenticated && first.user === second.user).toBe(true);
});

describe('two objects with one key', () => {
  const token = mintAccessKey('gpu');
  const hidden = { key: concealAccessKey(token) };
  const at = (seconds: number): KubeObject['metadata'] => ({
    creationTimestamp: rfc3339(START + seconds * 1000),
  });
  const owners: [string, KubeObject][] = [
    ['real', keyObject('real', { user: 'ann' }, at(0))],
    ['copy', keyObject('copy', { user: 'eve' }, at(1))],
  ];
  const who = (): string | undefined => {
    const result = keys.authenticate(token);
    return result.authenticated ? result.user.name : undefined;
  };

  test.each([
    ['in order', owners],
    ['in reverse', [...owners].reverse()],
  ])('the older one counts, when they come %s', (_claim, order) => {
    setUser('eve');
    for (const [name, object] of order) keys.set(name, object, hidden);
    expect(who()).toBe('ann');
    keys.remove('copy');
    expect(who()).toBe('ann');
  });

  test('the other one counts when the older is gone', () => {
    setUser('eve');
    for (const [name, object] of owners) keys.set(name, object, hidden);
    keys.remove('real');
    expect(who()).toBe('eve');
  });
});

describe('expiry', () => {
  test('comes with the ttl, to the millisecond', () => {
    const token = add('k1', { ttl: 10 });
    now = START + 9_999;
    expect(verdict(token)).toBe('ok');
    now = START + 10_000;
    expect(verdict(token)).toBe('expired');
  });

  test('is put off by use with ttlAfterLastActivity, and only by use that passed', () => {
    const token = add('k1', { ttl: 10, ttlAfterLastActivity: true });
    for (let i = 0; i < 5; i++) {
      now += 9000;
      expect(verdict(token)).toBe('ok');
    }
    setUser('ann', { disabled: true });
    now += 9000;
    expect(verdict(token)).toBe('owner-disabled');
    setUser('ann');
    now += 9000;
    expect(verdict(token)).toBe('expired');
    expect(verdict(token)).toBe('expired');
  });

  test('counts from the saved activity after a restart, and from the later of the two', () => {
    const spec = { user: 'ann', ttl: 10, ttlAfterLastActivity: true };
    const token = mintAccessKey('gpu');
    const object = { ...keyObject('k1', spec), status: { lastActivity: rfc3339(START + 60_000) } };
    keys.set('k1', object, { key: concealAccessKey(token) });
    now = START + 69_000;
    expect(verdict(token)).toBe('ok');
    keys.set('k1', object, { key: concealAccessKey(token) });
    now = START + 78_000;
    expect(verdict(token)).toBe('ok');
  });

  test('counts use that another process saved after our own', () => {
    const spec = { user: 'ann', ttl: 10, ttlAfterLastActivity: true };
    const token = add('k1', spec);
    expect(verdict(token)).toBe('ok');
    const object = { ...keyObject('k1', spec), status: { lastActivity: rfc3339(START + 60_000) } };
    keys.set('k1', object, { key: concealAccessKey(token) });
    now = START + 69_000;
    expect(verdict(token)).toBe('ok');
  });

  test('follows the configured maximum as soon as it changes', () => {
    const token = add('k1');
    now += 100_000;
    expect(verdict(token)).toBe('ok');
    limits = { accessKeyMaxTTLSeconds: 50 };
    expect(verdict(token)).toBe('expired');
    limits = {};
    expect(verdict(token)).toBe('ok');
  });

  test('is that of a login for login keys', () => {
    const token = add('k1', { type: 'Login' });
    now += 20 * 86_400_000 - 1;
    expect(verdict(token)).toBe('ok');
    now += 1;
    expect(verdict(token)).toBe('expired');
  });

  test('a new key with the name of an old one does not count the use of the old one', () => {
    const spec = { ttl: 10, ttlAfterLastActivity: true };
    const token = add('k1', spec);
    now += 5000;
    expect(verdict(token)).toBe('ok');
    const object = keyObject('k1', { user: 'ann', ...spec }, { uid: 'other' });
    keys.set('k1', object, { key: concealAccessKey(token) });
    now += 6000;
    expect(verdict(token)).toBe('expired');
  });

  test('ends a limited key of unknown age', () => {
    const token = mintAccessKey('gpu');
    const object = keyObject('k1', { user: 'ann', ttl: 10 }, { creationTimestamp: null });
    keys.set('k1', object, { key: concealAccessKey(token) });
    expect(verdict(token)).toBe('expired');
  });

  test('is overdue when it ended longer ago than keys are kept', () => {
    add('short', { ttl: 10 });
    add('long', { ttl: 1000 });
    now += 12_000;
    expect(keys.overdue(0)).toEqual(['short']);
    expect(keys.overdue(2000)).toEqual(['short']);
    expect(keys.overdue(3000)).toEqual([]);
    expect(keys.overdue(Number.POSITIVE_INFINITY)).toEqual([]);
  });

  test('a login is overdue as soon as it has ended', () => {
    add('login', { type: 'Login', ttl: 10 });
    now += 10_000;
    expect(keys.overdue(Number.POSITIVE_INFINITY)).toEqual(['login']);
  });

  test('a key whose lifetime counts from its last use is not overdue while no use is known', () => {
    const used = add('used', { ttl: 10, ttlAfterLastActivity: true });
    add('forgotten', { ttl: 10, ttlAfterLastActivity: true });
    now += 6000;
    expect(verdict(used)).toBe('ok');
    now += 9000;
    expect(keys.overdue(0)).toEqual([]);
    now += 1000;
    expect(keys.overdue(0)).toEqual(['used']);
    limits = { accessKeyMaxTTLSeconds: 15 };
    expect(keys.overdue(0)).toEqual(['used', 'forgotten']);
  });
});
