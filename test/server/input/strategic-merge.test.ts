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

test.each(['finalizers', '$deleteFromPrimitiveList/finalizers', '$setElementOrder/finalizers'])(
  '%s of tens of thousands of items are refused, and of a hundred are not',
  (field) => {
    const items = (count: number) => Array.from({ length: count }, (_, i) => `example.com/${i}`);
    const patched = (count: number) =>
      applyStrategicMergePatch(
        { metadata: { finalizers: items(count) } },
        { metadata: { [field]: items(count).reverse() } },
      );
    expect(() => patched(100)).not.toThrow();
    expect(() => patched(30_000)).toThrow('compares at most 1000000 pairs');
  },
);

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
    ['reaches for the prototype', JSON.parse('{"__proto__": {"a": 1}}')],
  ])('a strategic merge patch that %s is 400', (_title, patch) => {
    expect(() => applyStrategicMergePatch(role, patch)).toThrow(
      expect.objectContaining({ code: 400 }),
    );
  });
});
