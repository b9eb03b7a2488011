/** Fields and items of objects that differ or are taken out, without a peer to judge. */
import { expect, test } from 'vitest';
import type { JsonValue } from '../../src/apimachinery/object.ts';
import { FieldSet, fieldElement, keyElement } from '../../src/field-management/field-set.ts';
import type { ShapeNode } from '../../src/field-management/shape.ts';
import { checkApplied, compare, withoutFields } from '../../src/field-management/walk.ts';

const SHAPE: ShapeNode = {
  properties: {
    items: { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'], items: {} },
  },
};

function fields(...paths: string[][]): FieldSet {
  const set = new FieldSet();
  for (const [first = '', item, ...rest] of paths) {
    const below =
      item === undefined
        ? []
        : [first === 'items' ? keyElement({ name: item }) : fieldElement(item)];
    set.insert([fieldElement(first), ...below, ...rest.map(fieldElement)]);
  }
  return set;
}

test.each<[title: string, paths: string[][], value: JsonValue, left: JsonValue]>([
  ['nothing is taken out by an empty set', [], { a: {} }, { a: {} }],
  ['an empty map beside the field stays', [['b']], { a: {}, b: 1 }, { a: {} }],
  ['an empty list beside the field stays', [['b']], { a: [], b: 1 }, { a: [] }],
  ['a map without any field left is null', [['a', 'b']], { a: { b: 1 }, c: 2 }, { a: null, c: 2 }],
  ['an object without any field left is null', [['a']], { a: 1 }, null],
  ['a field below a value that is no map changes nothing', [['a', 'b']], { a: 1 }, { a: 1 }],
  [
    'an item is taken out by its key',
    [['items', 'x']],
    { items: [{ name: 'x' }, { name: 'y' }] },
    { items: [{ name: 'y' }] },
  ],
  [
    'a list without any item left is null',
    [['items', 'x']],
    { items: [{ name: 'x' }], a: 1 },
    { items: null, a: 1 },
  ],
  [
    'a field of an item is taken out',
    [['items', 'x', 'p']],
    {
      items: [
        { name: 'x', p: 1 },
        { name: 'y', p: 2 },
      ],
    },
    { items: [{ name: 'x' }, { name: 'y', p: 2 }] },
  ],
])('%s', (_title, paths, value, left) => {
  expect(withoutFields(SHAPE, value, fields(...paths))).toEqual(left);
});

const ITEMS = { items: [{ name: 'x' }] };
const OF_ITEMS = { '.': {}, 'k:{"name":"x"}': { '.': {}, 'f:name': {} } };
const OF_MAP = { '.': {}, 'f:b': {} };

test.each<[title: string, before: JsonValue, after: JsonValue, gone: object, come: object]>([
  ['a map that becomes a text', { a: { b: 1 } }, { a: 'x' }, { 'f:a': OF_MAP }, { 'f:a': {} }],
  ['a text that becomes a map', { a: 'x' }, { a: { b: 1 } }, { 'f:a': {} }, { 'f:a': OF_MAP }],
  [
    'a list that becomes a map',
    ITEMS,
    { items: { b: 1 } },
    { 'f:items': OF_ITEMS },
    { 'f:items': OF_MAP },
  ],
  [
    'a map that becomes a list',
    { items: { b: 1 } },
    ITEMS,
    { 'f:items': OF_MAP },
    { 'f:items': OF_ITEMS },
  ],
  ['a map that becomes null', { a: { b: 1 } }, { a: null }, { 'f:a': { 'f:b': {} } }, {}],
])('%s goes with its fields, and the other comes', (_title, before, after, gone, come) => {
  const { added, modified, removed } = compare(SHAPE, before, after);
  expect([removed, added, modified].map((set) => set.toFieldsV1())).toEqual([gone, come, {}]);
});

test('a list that is one value stays whole, with a field below it', () => {
  const value = { a: [{ b: 1 }, { b: 2 }] };
  expect(withoutFields(SHAPE, value, fields(['a', 'b']))).toEqual(value);
});

const TWICE = [{ name: 'x' }, { name: 'x' }];
const NESTED: ShapeNode = {
  properties: {
    below: SHAPE,
    items: {
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      items: SHAPE,
    },
    whole: { 'x-kubernetes-list-type': 'atomic', items: SHAPE },
  },
};

test.each<[string, JsonValue]>([
  ['in the object', { items: TWICE }],
  ['in a map of it', { below: { items: TWICE } }],
  ['in an item of a list of it', { items: [{ name: 'y', items: TWICE }] }],
])('an item that is applied twice is refused %s', (_where, value) => {
  expect(() => checkApplied(NESTED, value)).toThrow('duplicate entries for key');
});

test.each<[string, JsonValue]>([
  ['different items', { items: [{ name: 'x' }, { name: 'y' }], below: null }],
  ['equal items of a list that is one value', { whole: [{ items: TWICE }, { items: TWICE }] }],
])('%s are applied', (_what, value) => {
  expect(() => checkApplied(NESTED, value)).not.toThrow();
});

test('an item without its key is refused', () => {
  expect(() => checkApplied(NESTED, { items: [{ other: 1 }] })).toThrow('has no key');
});
