import { describe, expect, test } from 'vitest';
import { formatFieldError } from '../../src/apimachinery/field-error.ts';
import { tenantClusterOf } from '../../src/endpoint-patches/tenant.ts';
import { hasPlace, translateName } from '../../src/endpoint-patches/translate.ts';
import { checkNamespacesSetting } from '../../src/endpoint-patches/validate-namespaces.ts';

const OF = { name: 'blue', namespace: 'vcluster-blue' };
const NAME = `\${name}`;

function config(byName: unknown, more: object = {}): object {
  return { sync: { toHost: { namespaces: { enabled: true, mappings: { byName }, ...more } } } };
}

test.each([
  [{ a: 'b', 'c-*': 'd-*' }],
  [{ a: `${NAME}-b`, [`${NAME}-*`]: 'd-*' }],
  [{ 'kube-system': 'blue-system' }],
])('%j can be used', (byName) => {
  expect(checkNamespacesSetting(config(byName), OF)).toEqual([]);
});

test.each<[string, object, RegExp]>([
  ['no mapping', config({}), /Required value: it says where namespaces go/],
  ['no mappings at all', config(undefined), /Required value/],
  ['a list', config(['a']), /must be a map/],
  ['a number', config({ a: 5 }), /must be a string/],
  ['a pattern that becomes a name', config({ 'a-*': 'b' }), /either both have a \* or none/],
  ['a name that becomes a pattern', config({ a: 'b-*' }), /either both have a \* or none/],
  ['* in the middle', config({ 'a-*-b': 'c-*' }), /may have one \* at its end/],
  ['two *', config({ 'a-**': 'c-*' }), /may have one \* at its end/],
  ['no name', config({ a: 'B' }), /lowercase RFC 1123 label/],
  ['an empty name', config({ '': 'b' }), /lowercase RFC 1123 label/],
  ['another placeholder', config({ a: `$${'{other}'}` }), /a placeholder that is not/],
  ['the placeholder twice', config({ a: `${NAME}${NAME}` }), /more than once/],
  ['a long start', config({ [`${'a'.repeat(33)}*`]: 'b*' }), /more than 32 characters before \*/],
  [
    'the namespace of the tenant',
    config({ a: 'vcluster-blue' }),
    /for namespaces without a mapping/,
  ],
  ['a pattern that holds it', config({ 'a-*': 'vcluster-*' }), /for namespaces without a mapping/],
  ['one place for two', config({ a: 'c', b: 'c' }), /"a" is mapped to it as well/],
  [
    'one place for two, by the name of the tenant',
    config({ a: 'blue-c', b: `${NAME}-c` }),
    /"a" is mapped to it as well/,
  ],
  [
    'the former mode beside it',
    { ...config({ a: 'b' }), experimental: { multiNamespaceMode: { enabled: true } } },
    /sync\.toHost\.namespaces has taken its place/,
  ],
])('%s is refused', (_what, wrong, message) => {
  expect(checkNamespacesSetting(wrong, OF).map(formatFieldError).join()).toMatch(message);
});

test('a disabled setting is not validated', () => {
  expect(checkNamespacesSetting(config({}, { enabled: false }), OF)).toEqual([]);
  expect(checkNamespacesSetting({}, OF)).toEqual([]);
});

describe('several mappings that fit', () => {
  const byName = { '*': 'all-*', 'a-*': 'short-*', 'a-b-*': 'long-*', 'a-b-c': 'exact' };
  const of = { namespace: 'vc', referenceNames: 'short' } as const;
  const tenant = tenantClusterOf('blue', JSON.parse(JSON.stringify(config(byName))), of);

  test.each([
    ['a-b-c', 'exact'],
    ['a-b-x', 'long-x'],
    ['a-x', 'short-x'],
    ['x', 'all-x'],
    ['a-', 'short-'],
  ])('the mapping for %s leads to %s', (namespace, host) => {
    expect(translateName({ namespace, name: 'db' }, tenant, 'concat').namespace).toBe(host);
    const reversed = {
      ...tenant,
      namespaces: Object.fromEntries(Object.entries(byName).reverse()),
    };
    expect(translateName({ namespace, name: 'db' }, reversed, 'concat').namespace).toBe(host);
  });
});

test('a namespace without a mapping has no target where only mappings count', () => {
  const of = { namespace: 'vc', referenceNames: 'short' } as const;
  const only = JSON.parse(JSON.stringify(config({ a: 'b' }, { mappingsOnly: true })));
  const tenant = tenantClusterOf('blue', only, of);

  expect([hasPlace('a', tenant), hasPlace('c', tenant)]).toEqual([true, false]);
});
