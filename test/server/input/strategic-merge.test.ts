import { describe, expect, test } from 'vitest';
import { applyStrategicMergePatch } from '../../../src/server/input/strategic-merge.ts';

const role = {
  metadata: {
    name: 'viewer',
    labels: { a: '1', b: '2' },
    finalizers: ['example.com/a', 'example.com/b'],
    ownerReferences: [
      { uid: '1', name: 'one' },
      { uid: '2', name: 'two' },
    ],
  },
  rules: [{ verbs: ['get'], resources: ['teams'] }],
};
const { metadata } = role;
const [one, two] = metadata.ownerReferences;

/** Maps that differ in their last field alone. */
const alike = (count: number, fields: number, first: number): Record<string, number>[] =>
  Array.from({ length: count }, (_, at) => ({ ...wide(fields), last: first + at }));
const wide = (fields: number): Record<string, number> =>
  Object.fromEntries(Array.from({ length: fields }, (_, at) => [`k${at}`, 0]));
const texts = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => `example.com/${at}`);

test.each<[string, object, object]>([
  ['finalizers', { finalizers: texts(30_000) }, { finalizers: texts(30_000).reverse() }],
  [
    'an order of finalizers',
    { finalizers: texts(30_000) },
    { '$setElementOrder/finalizers': texts(30_000).reverse() },
  ],
  [
    'deletions of finalizers',
    { finalizers: texts(30_000) },
    { '$deleteFromPrimitiveList/finalizers': texts(30_000) },
  ],
  [
    'deletions of maps that are alike',
    {},
    {
      finalizers: alike(250, 400, 0),
      '$deleteFromPrimitiveList/finalizers': alike(250, 400, 1000),
    },
  ],
  [
    'owners whose uid is a map',
    {},
    { ownerReferences: alike(500, 400, 0).map((uid) => ({ uid })) },
  ],
  [
    'an order that names a map of many fields',
    {},
    { list: alike(5000, 0, 0), '$setElementOrder/list': [wide(20_000)] },
  ],
  [
    'many keys that are retained',
    { labels: wide(80_000) },
    { labels: { $retainKeys: texts(80_000) } },
  ],
])('%s: a patch of megabytes costs less than three seconds', (_title, before, patch) => {
  const start = process.cpuUsage();
  applyStrategicMergePatch({ metadata: before as never }, { metadata: patch });
  const { user, system } = process.cpuUsage(start);

  expect((user + system) / 1e6).toBeLessThan(3);
});

describe('a strategic merge patch', () => {
  test.each<[string, object, object]>([
    ['that is empty changes nothing', {}, role],
    [
      'replaces the lists of a role',
      { rules: [{ verbs: ['list'] }] },
      { ...role, rules: [{ verbs: ['list'] }] },
    ],
    ['removes what is null', { rules: null }, { metadata }],
    [
      'merges maps',
      { metadata: { labels: { a: null, c: '3' } } },
      { ...role, metadata: { ...metadata, labels: { b: '2', c: '3' } } },
    ],
    [
      'merges finalizers',
      { metadata: { finalizers: ['example.com/c', 'example.com/a'] } },
      {
        ...role,
        metadata: { ...metadata, finalizers: ['example.com/a', 'example.com/b', 'example.com/c'] },
      },
    ],
    [
      'takes finalizers away by name',
      { metadata: { '$deleteFromPrimitiveList/finalizers': ['example.com/a'] } },
      { ...role, metadata: { ...metadata, finalizers: ['example.com/b'] } },
    ],
    [
      'orders finalizers',
      { metadata: { '$setElementOrder/finalizers': ['example.com/b', 'example.com/a'] } },
      { ...role, metadata: { ...metadata, finalizers: ['example.com/b', 'example.com/a'] } },
    ],
    [
      'merges owners by uid',
      { metadata: { ownerReferences: [{ uid: '2', name: 'deux' }, { uid: '3' }] } },
      {
        ...role,
        metadata: {
          ...metadata,
          ownerReferences: [one, { uid: '2', name: 'deux' }, { uid: '3' }],
        },
      },
    ],
    [
      'removes owners by uid',
      { metadata: { ownerReferences: [{ $patch: 'delete', uid: '1' }] } },
      { ...role, metadata: { ...metadata, ownerReferences: [two] } },
    ],
    [
      'orders owners by uid',
      { metadata: { '$setElementOrder/ownerReferences': [{ uid: '2' }, { uid: '1' }] } },
      { ...role, metadata: { ...metadata, ownerReferences: [two, one] } },
    ],
    [
      'replaces all owners when told to',
      { metadata: { ownerReferences: [{ $patch: 'replace' }, { uid: '9' }] } },
      { ...role, metadata: { ...metadata, ownerReferences: [{ uid: '9' }] } },
    ],
    [
      'merges the same owner twice, one after the other',
      {
        metadata: {
          ownerReferences: [
            { uid: '1', name: 'x', kind: null },
            { uid: '1', name: 'y', kind: 'Z' },
          ],
        },
      },
      {
        ...role,
        metadata: { ...metadata, ownerReferences: [{ ...one, name: 'y', kind: 'Z' }, two] },
      },
    ],
    [
      'replaces a map when told to',
      { metadata: { labels: { $patch: 'replace', z: '1' } } },
      { ...role, metadata: { ...metadata, labels: { z: '1' } } },
    ],
    [
      'empties a map when told to',
      { metadata: { labels: { $patch: 'delete' } } },
      { ...role, metadata: { ...metadata, labels: {} } },
    ],
    [
      'retains only the keys it names',
      { metadata: { labels: { $retainKeys: ['b'] } } },
      { ...role, metadata: { ...metadata, labels: { b: '2' } } },
    ],
  ])('%s', (_title, patch, expected) => {
    const before = structuredClone(role);

    expect(applyStrategicMergePatch(role, patch)).toEqual(expected);
    expect(role).toEqual(before);
  });

  test.each<[string, unknown]>([
    ['is a list', []],
    ['is no object', 'x'],
    ['has an unknown directive', { metadata: { $patch: 'explode' } }],
    ['orders with something else than a list', { metadata: { '$setElementOrder/finalizers': 1 } }],
    ['merges an owner without uid', { metadata: { ownerReferences: [{ name: 'x' }] } }],
    [
      'merges an owner twice with a map',
      { metadata: { ownerReferences: [{ uid: '1' }, { uid: '1', name: { x: 1 } }] } },
    ],
    [
      'merges an owner twice with a directive',
      { metadata: { ownerReferences: [{ uid: '1' }, { uid: '1', $retainKeys: ['uid'] }] } },
    ],
    [
      'hides the prototype in an owner that is merged twice',
      JSON.parse('{"metadata":{"ownerReferences":[{"uid":"1"},{"uid":"1","__proto__":1}]}}'),
    ],
    ['reaches for the prototype', JSON.parse('{"__proto__": {"a": 1}}')],
  ])('a strategic merge patch that %s is 400', (_title, patch) => {
    expect(() => applyStrategicMergePatch(role, patch)).toThrow(
      expect.objectContaining({ code: 400 }),
    );
  });
});

test('ports of a Service that differ in their protocol are taken from a patch', () => {
  const ports = [
    { name: 'dns', port: 53, protocol: 'UDP' },
    { name: 'dns-tcp', port: 53, protocol: 'TCP' },
  ];

  const replaced = applyStrategicMergePatch(
    { spec: {} },
    { spec: { ports: [{ $patch: 'replace' }, ...ports] } },
  );
  const merged = applyStrategicMergePatch({ spec: { ports } }, { spec: { ports } });

  expect(replaced).toEqual({ spec: { ports } });
  expect(merged).toEqual({ spec: { ports: [ports[1], ports[1]] } });
});
