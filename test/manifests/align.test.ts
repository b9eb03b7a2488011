/** Pairing of list items before and after an edit: an item keeps its comments where it is paired. */
import { expect, test } from 'vitest';
import type { JsonValue } from '../../src/apimachinery/object.ts';
import { align } from '../../src/manifests/edit/align.ts';

const NOTHING = '-';

/** `0>1`: the first item became the second. `0>-`: it was removed. `->0`: the item is new. */
test.each<[title: string, before: JsonValue[], after: JsonValue[], steps: string]>([
  [
    'a map is paired with the one it shares most fields with',
    [
      { a: 1, b: 2, c: 3 },
      { a: 7, b: 8, c: 9 },
    ],
    [{ a: 7, b: 8, c: 0 }],
    '0>- 1>0',
  ],
  [
    'a map is paired with the first where that one is nearer',
    [
      { a: 1, b: 2, c: 3 },
      { a: 7, b: 8, c: 9 },
    ],
    [{ a: 1, b: 2, c: 0 }],
    '0>0 1>-',
  ],
  [
    'a field of the same name counts, with another value too',
    [
      { a: 1, b: 2 },
      { x: 1, y: 2 },
    ],
    [{ x: 5, y: 6 }],
    '0>- 1>0',
  ],
  [
    'an equal value counts more than an equal name',
    [
      { a: 1, b: 2 },
      { a: 5, b: 7 },
    ],
    [{ a: 5, b: 6 }],
    '0>- 1>0',
  ],
  ['a map that is alone is changed in place', [{ a: 1 }], [{ b: 2 }], '0>0'],
  [
    'a map with another name and the same rest was renamed',
    [{ name: 'a', p: 1, q: 2, r: 3 }],
    [{ name: 'b', p: 1, q: 2, r: 3 }],
    '0>0',
  ],
  [
    'a map with another name and another rest is another item',
    [{ name: 'a', p: 1 }],
    [{ name: 'b', p: 2 }],
    '0>- ->0',
  ],
  [
    'a map without a name is compared by its fields alone',
    [{ name: 'a', p: 1 }],
    [{ p: 1 }],
    '0>0',
  ],
  [
    'a name that is unique decides',
    [
      { name: 'a', p: 1, q: 1 },
      { name: 'b', p: 2, q: 2 },
    ],
    [{ name: 'b', p: 1, q: 1 }],
    '0>- 1>0',
  ],
  [
    'a name that is not unique decides with the rest',
    [
      { name: 'a', p: 1, q: 1 },
      { name: 'a', p: 2, q: 3 },
    ],
    [{ name: 'a', p: 9, q: 3 }],
    '0>- 1>0',
  ],
  [
    'a name that is not unique outweighs the rest',
    [
      { name: 'a', p: 1 },
      { name: 'a', p: 2 },
      { name: 'b', q: 3, r: 4 },
    ],
    [{ name: 'b', p: 1, r: 5 }],
    '0>- 1>- 2>0',
  ],
  ['null is not the map behind it', [null, { a: 1 }], [{ a: 2 }], '0>- 1>0'],
  ['a list is not the map behind it', [[1], { a: 1 }], [{ a: 2 }], '0>- 1>0'],
  ['a scalar never becomes a map', ['a'], [{ a: 1 }], '0>- ->0'],
  ['a scalar is changed in place', ['a', 'b', 'c'], ['a', 'x', 'c'], '0>0 1>1 2>2'],
  [
    'equal items at both ends stay',
    ['a', 'b', 'x', 'c', 'd'],
    ['a', 'b', 'c', 'd'],
    '0>0 1>1 2>- 3>2 4>3',
  ],
  [
    'a new item moves those behind it',
    ['a', 'b', 'c', 'd'],
    ['a', 'b', 'x', 'c', 'd'],
    '0>0 1>1 ->2 2>3 3>4',
  ],
  [
    'where items changed places, those before and behind them stay',
    ['a', 'b', 'c', 'd', 'e', 'f'],
    ['a', 'b', 'd', 'c', 'e', 'f'],
    '0>0 1>1 2>- 3>2 ->3 4>4 5>5',
  ],
  ['a list is changed in place', [[1], 'b'], [[2], 'b'], '0>0 1>1'],
  [
    'an item that is equal at both ends of the shorter list is paired once',
    ['a', 'c', 'b', 'a', 'b', 'c'],
    ['a', 'b', 'c'],
    '0>0 1>- 2>- 3>- 4>1 5>2',
  ],
  [
    'items that changed their ends are not equal ends',
    [[1], 'c', { d: 1 }, 'f'],
    [{ d: 1 }, 'c', [1], 'f'],
    '0>- 1>- 2>0 ->1 ->2 3>3',
  ],
  [
    'items that changed their ends are not equal ends',
    [{ d: 1 }, 'c', [1], 'f'],
    [[1], 'c', { d: 1 }, 'f'],
    '0>- 1>- 2>0 ->1 ->2 3>3',
  ],
])('%s', (_title, before, after, expected) => {
  const steps = align(before, after).map(({ from = NOTHING, to = NOTHING }) => `${from}>${to}`);
  expect(steps.join(' ')).toBe(expected);
});

const maps = (length: number, v: number): JsonValue[] =>
  Array.from({ length }, (_, k) => ({ k, v, w: v, x: v }));

test('lists of a hundred items are aligned by likeness', () => {
  const steps = align([[0], ...maps(99, 1)], [...maps(99, 2), 'end']);
  expect(steps[0]).toEqual({ from: 0, to: undefined });
  expect(steps.slice(1, -1)).toEqual(
    Array.from({ length: 99 }, (_, i) => ({ from: i + 1, to: i })),
  );
  expect(steps.at(-1)).toEqual({ from: undefined, to: 99 });
});

test.each([
  [103, 100],
  [100, 103],
  [101, 100],
])('lists of %i and %i items are aligned by position', (before, after) => {
  const steps = align([[0], ...maps(before - 1, 1)], [...maps(after - 1, 2), 'end']);
  const index = (i: number, length: number) => (i < length ? i : undefined);
  expect(steps).toEqual(
    Array.from({ length: Math.max(before, after) }, (_, i) => ({
      from: index(i, before),
      to: index(i, after),
    })),
  );
});
