import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  accessKeyPrefix,
  accessKeyProblems,
  concealAccessKey,
  hasValidChecksum,
  isConcealedAccessKey,
  mintAccessKey,
} from '../../../src/kinds/credentials/access-key.ts';

const prefixes = fc.stringMatching(/^gp[a-z]{1,3}$/);
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

describe('a minted key', () => {
  test('has its prefix, 44 characters and a valid checksum', () => {
    fc.assert(
      fc.property(prefixes, (prefix) => {
        const key = mintAccessKey(prefix);
        expect(key).toMatch(new RegExp(`^${prefix}_[0-9A-Za-z]{44}$`));
        expect(hasValidChecksum(key)).toBe(true);
        expect(accessKeyProblems(key)).toEqual([]);
      }),
    );
  });

  test('is noticed to be wrong after any change of one character', () => {
    fc.assert(
      fc.property(
        prefixes,
        fc.nat({ max: 43 }),
        fc.constantFrom(...BASE62),
        (prefix, at, character) => {
          const key = mintAccessKey(prefix);
          const index = prefix.length + 1 + at;
          fc.pre(key[index] !== character);
          const changed = key.slice(0, index) + character + key.slice(index + 1);
          expect(hasValidChecksum(changed)).toBe(false);
          expect(accessKeyProblems(changed)).toHaveLength(1);
        },
      ),
    );
  });

  test('uses every character about equally often', () => {
    const counts = new Map<string, number>();
    const keys = 2000;
    for (let i = 0; i < keys; i++) {
      for (const char of mintAccessKey('gpu').slice(4, 42)) {
        counts.set(char, (counts.get(char) ?? 0) + 1);
      }
    }
    const expected = (keys * 38) / 62;
    expect(counts.size).toBe(62);
    // Six standard deviations; the bias of `byte % 62` alone would be 25 per cent.
    const tolerance = 6 * Math.sqrt(expected);
    for (const count of counts.values()) expect(Math.abs(count - expected)).toBeLessThan(tolerance);
  });

  test('is never the same twice', () => {
    expect(new Set(Array.from({ length: 1000 }, () => mintAccessKey('gpu'))).size).toBe(1000);
  });

  test.each(['', 'gp', 'gpUSER', 'ghp', 'gp_', 'gpabcd'])('refuses the prefix %j', (prefix) => {
    expect(() => mintAccessKey(prefix)).toThrow(TypeError);
  });
});

test('the checksum is CRC-32 in base62, so that scanners elsewhere can check it', () => {
  // crc32("gpu_" + 38 zeros) = 0xe7f8b6a2 = 3891836578.
  expect(hasValidChecksum(`gpu_${'0'.repeat(38)}4FNkTi`)).toBe(true);
});

test.each(['', 'User', 'Login', 'Other', 'Reset', 'OIDCRefreshToken', 'NetworkPeer', 'Workspace'])(
  'keys of type %j have a prefix that can be minted',
  (type) => {
    expect(hasValidChecksum(mintAccessKey(accessKeyPrefix(type)))).toBe(true);
  },
);

describe('concealing', () => {
  test('gives a hash that does not hold the key', () => {
    const key = mintAccessKey('gpu');
    const concealed = concealAccessKey(key);
    expect(concealed).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(concealed).not.toContain(key.slice(4));
  });

  test('is the SHA-256 of the key behind a tag of its own', () => {
    // printf 'gitplane.dev/access-key\0abc' | sha256sum
    expect(concealAccessKey('abc')).toBe(
      'sha256:e6aacf965d18ac178fbed41f7d90166ba603dbf2c87d04b60394cd0a593e1d47',
    );
  });

  test('leaves what is concealed or empty as it is', () => {
    const concealed = concealAccessKey(mintAccessKey('gpu'));
    expect(concealAccessKey(concealed)).toBe(concealed);
    expect(isConcealedAccessKey(concealed)).toBe(true);
    expect(concealAccessKey('')).toBe('');
    expect(isConcealedAccessKey('')).toBe(false);
  });

  test('conceals different keys differently', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), (a, b) => {
        fc.pre(a !== b);
        expect(concealAccessKey(a)).not.toBe(concealAccessKey(b));
      }),
    );
  });
});

describe('a key that a client chose', () => {
  test.each([
    ['64 hexadecimal digits', '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
    ['40 hexadecimal digits', '2fd4e1c67a2d28fced849ee1bb76e7391b93eb12'],
    ['base64', 'q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA='],
    ['lower-case letters', 'xkqzjvwbnrtplmhgfdscyaoeuixkqzjvwbnrtplmhgfdscyaoeuixkqzjvwbnrt'],
    ['nothing, so that one is made', ''],
  ])('is taken when it is %s', (_, key) => {
    expect(accessKeyProblems(key)).toEqual([]);
  });

  test.each([
    ['short', 'Zk3vQ9mT', /must have 32 to 512 characters/],
    ['repeating', 'abcd'.repeat(10), /must be random/],
    ['no bearer token', `Zk3vQ9mT5xW1pL8r Zk3vQ9mT5xW1pL8r`, /RFC 6750/],
    ['too long', 'Zk3vQ9mT5xW1pL8r'.repeat(40), /must have 32 to 512 characters/],
    ['a broken hash', 'sha256:abc', /64 lower-case hexadecimal digits/],
    ['a mistyped key of ours', `gpu_${'Zk3vQ9mT'.repeat(5)}0000`, /with a wrong character/],
  ])('is refused when it is %s, without being repeated', (_, key, message) => {
    const problems = accessKeyProblems(key);
    expect(problems.join()).toMatch(message);
    expect(problems.join()).not.toContain(key);
  });

  test.each([[null], [42], [{}]])('is refused when it is %j', (value) => {
    expect(accessKeyProblems(value)).toEqual(['must be a text']);
  });
});
