/** Names as the product computes them: the vectors of its code and of its documentation. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hostLabelKey } from '../../src/endpoint-patches/labels.ts';
import {
  clusterScopedHostName,
  hostName,
  legacyNamespace,
  safeConcatName,
  shortHash,
  shortHostName,
} from '../../src/endpoint-patches/names.ts';
import { runs } from '../support/properties.ts';

const LONG = 'a-very-long-endpoints-name-for-testing-purposes-only';
const VECTORS: readonly [readonly [string, string, string], string, string][] = [
  [['my-secret', 'default', 'my-vcluster'], 'my-secret-x-default-x-my-vcluster', 'v5ri45ovgqam9c'],
  [['nginx', 'default', 'vcluster'], 'nginx-x-default-x-vcluster', 'v1curhi49jlk2e'],
  [['creds', 'team-a', 'tenant'], 'creds-x-team-a-x-tenant', 'v3tsdij9ouxge3'],
  [[LONG, 'production-namespace', 'my-vcluster'], `${LONG}-dad619325f`, 'v5gcpxgripypfq'],
  [
    [`${'a'.repeat(51)}.${'b'.repeat(20)}`, 'd', 'vc'],
    `${'a'.repeat(51)}-aabfd21438`,
    'v497fws2hao7kj',
  ],
  [['b'.repeat(44), 'default', 'tenant'], `${'b'.repeat(44)}-x-default-x-tenant`, 'v28q3smv9ipkzc'],
  [['b'.repeat(45), 'default', 'tenant'], `${'b'.repeat(45)}-x-defa-7deb9d4aaa`, 'v34zekd4j23uz2'],
  [['a.', 'd', 'vc'], 'a.-x-d-x-vc', 'v3w436v6txqvb5'],
];

test.each(VECTORS)('%j is called %s, or %s for short', (args, full, short) => {
  expect(hostName(...args)).toBe(full);
  expect(shortHostName(...args)).toBe(short);
});

test('the lengths at the limit are those of the vectors', () => {
  const lengths = VECTORS.map(([args]) => hostName(...args).length);

  expect(lengths).toEqual([33, 26, 23, 63, 62, 63, 63, 11]);
});

test('an object without a namespace carries that of the tenant', () => {
  expect(clusterScopedHostName('my-pv', 'vc-ns', 'my-vcluster')).toBe(
    'vcluster-my-pv-x-vc-ns-x-my-vcluster',
  );
});

test('namespaces of the former multi-namespace mode', () => {
  expect(legacyNamespace('default', 'vc-ns', 'my-vcluster')).toBe('vcluster-37a8eec1-411b07a0');
});

test('an empty name stays empty', () => {
  expect(hostName('', 'default', 'tenant')).toBe('');
  expect(shortHostName('', 'default', 'tenant')).toBe('');
  expect(clusterScopedHostName('', 'ns', 'tenant')).toBe('');
});

describe('label keys', () => {
  test.each([
    ['release', 'a4d451ec23'],
    ['gitplane.dev/namespace', 'df7501aa22'],
    ['gitplane.dev/managed-by', '06939376e7'],
    ['gitplane.dev/controlled-by', '1d599300f7'],
    ['vcluster.loft.sh/namespace', '101dcd4e86'],
    ['vcluster.loft.sh/managed-by', 'e5f1b28ab2'],
    ['vcluster.loft.sh/controlled-by', '2080cec00f'],
  ])('%s is hashed to %s', (key, hash) => {
    expect(shortHash(key)).toBe(hash);
    expect(hostLabelKey(key, 'my-vcluster')).toBe(`gitplane.dev/label-my-vcluster-x-${hash}`);
  });

  test('the product has a constant for one of them', () => {
    const key = safeConcatName('vcluster.loft.sh/label', 'suffix', 'x', shortHash('release'));

    expect(key).toBe('vcluster.loft.sh/label-suffix-x-a4d451ec23');
  });
});

test('names are never longer than 63 bytes, and short ones are always 14 characters', () => {
  const name = fc.stringMatching(/^[a-z0-9]([-a-z0-9.]{0,80}[a-z0-9])?$/);
  fc.assert(
    fc.property(name, name, name, (...args) => {
      expect(Buffer.byteLength(hostName(...args))).toBeLessThanOrEqual(63);
      expect(shortHostName(...args)).toMatch(/^v[a-z0-9]{13}$/);
    }),
    { numRuns: runs(200) },
  );
});
