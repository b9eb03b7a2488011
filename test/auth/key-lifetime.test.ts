import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  expiresAt,
  type KeyLifetime,
  type KeyLifetimeLimits,
} from '../../src/auth/access-keys/key-lifetime.ts';
import { runs } from '../support/properties.ts';

const key: KeyLifetime = {
  creation: 1_000_000,
  ttlSeconds: undefined,
  ttlAfterLastActivity: false,
  login: false,
};
const never = Number.POSITIVE_INFINITY;
const day = 86_400;

// covers: auth.loginAccessKeyTTLSeconds
test.each<[string, Partial<KeyLifetime>, number | undefined, KeyLifetimeLimits, number]>([
  ['without ttl never ends', {}, undefined, {}, never],
  ['with ttl 0 never ends', { ttlSeconds: 0 }, undefined, {}, never],
  ['ends a ttl after creation', { ttlSeconds: 60 }, undefined, {}, 1_060_000],
  ['ends so whatever its activity', { ttlSeconds: 60 }, 9_000_000, {}, 1_060_000],
  [
    'with ttlAfterLastActivity ends a ttl after its last use',
    { ttlSeconds: 60, ttlAfterLastActivity: true },
    9_000_000,
    {},
    9_060_000,
  ],
  [
    'that was never used counts from creation',
    { ttlSeconds: 60, ttlAfterLastActivity: true },
    undefined,
    {},
    1_060_000,
  ],
  ['ends at the maximum', {}, undefined, { accessKeyMaxTTLSeconds: 5 }, 1_005_000],
  [
    'ends at the maximum before its ttl',
    { ttlSeconds: 60 },
    undefined,
    { accessKeyMaxTTLSeconds: 5 },
    1_005_000,
  ],
  [
    'ends at its ttl before the maximum',
    { ttlSeconds: 60 },
    undefined,
    { accessKeyMaxTTLSeconds: 500 },
    1_060_000,
  ],
  [
    'is not kept alive beyond the maximum by use',
    { ttlSeconds: 60, ttlAfterLastActivity: true },
    9_000_000,
    { accessKeyMaxTTLSeconds: 5 },
    1_005_000,
  ],
  ['has no maximum of 0', {}, undefined, { accessKeyMaxTTLSeconds: 0 }, never],
  ['of a login ends after 20 days', { login: true }, undefined, {}, 1_000_000 + 20 * day * 1000],
  [
    'of a login ends after the configured time',
    { login: true },
    undefined,
    { loginAccessKeyTTLSeconds: 60 },
    1_060_000,
  ],
  [
    'of a login never ends when that is configured',
    { login: true },
    undefined,
    { loginAccessKeyTTLSeconds: 0 },
    never,
  ],
  [
    'of a login keeps its own ttl',
    { login: true, ttlSeconds: 5 },
    undefined,
    { loginAccessKeyTTLSeconds: 60 },
    1_005_000,
  ],
  ['of a login with ttl 0 has no ttl', { login: true, ttlSeconds: 0 }, undefined, {}, never],
  [
    'of a login obeys the maximum all the same',
    { login: true, ttlSeconds: 0 },
    undefined,
    { accessKeyMaxTTLSeconds: 5 },
    1_005_000,
  ],
  [
    'that is no login does not care for the login time',
    {},
    undefined,
    { loginAccessKeyTTLSeconds: 60 },
    never,
  ],
])('a key %s', (_claim, own, lastActivity, limits, expected) => {
  expect(expiresAt({ ...key, ...own }, lastActivity, limits)).toBe(expected);
});

const seconds = fc.option(fc.integer({ min: 0, max: 200 }), { nil: undefined });

test('a key works in exactly the seconds that the rules allow, for any fields and limits', () => {
  fc.assert(
    fc.property(
      fc.record({
        creation: fc.integer({ min: 0, max: 100 }),
        ttl: seconds,
        afterActivity: fc.boolean(),
        login: fc.boolean(),
        used: fc.option(fc.integer({ min: 0, max: 300 }), { nil: undefined }),
        max: seconds,
        loginTtl: seconds,
        now: fc.integer({ min: 0, max: 600 }),
      }),
      ({ creation, ttl, afterActivity, login, used, max, loginTtl, now }) => {
        // The model asks each rule by itself whether it ends the key, in whole seconds.
        const ownTtl = ttl !== undefined ? ttl : login ? (loginTtl ?? 20 * day) : 0;
        const from = afterActivity && used !== undefined ? used : creation;
        const ended = (ownTtl > 0 && now - from >= ownTtl) || (!!max && now - creation >= max);

        const end = expiresAt(
          {
            creation: creation * 1000,
            ttlSeconds: ttl,
            ttlAfterLastActivity: afterActivity,
            login,
          },
          used === undefined ? undefined : used * 1000,
          { accessKeyMaxTTLSeconds: max, loginAccessKeyTTLSeconds: loginTtl },
        );
        expect(now * 1000 >= end).toBe(ended);
      },
    ),
    { numRuns: runs(2000) },
  );
});
