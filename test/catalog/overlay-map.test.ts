/** Maps on top of others: read as one map, applied at once, and undone at once. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { KeyMap } from '../../src/apimachinery/index.ts';
import { overlayOfKeys, overlayOfPaths } from '../../src/catalog/overlay-map.ts';
import { UndoLog } from '../../src/catalog/undo-log.ts';

const sorted = (entries: Iterable<[string, number]>): [string, number][] =>
  [...entries].sort(([a], [b]) => (a < b ? -1 : 1));

const change = fc.record({
  key: fc.constantFrom('a', 'b', 'c', 'd'),
  value: fc.option(fc.nat(9), { nil: undefined }),
});

test('an overlay reads as the map that it leads to, and the map below stays as it is', () => {
  fc.assert(
    fc.property(fc.array(change), fc.array(change, { minLength: 1 }), (first, then) => {
      const below = new Map<string, number>();
      for (const { key, value } of first) if (value !== undefined) below.set(key, value);
      const before = sorted(below.entries());
      const model = new Map(below);
      const overlay = overlayOfPaths<number>(below);
      for (const { key, value } of then) {
        if (value === undefined) expect(overlay.delete(key)).toBe(model.delete(key));
        else {
          overlay.set(key, value);
          model.set(key, value);
        }
        expect([overlay.size, overlay.get(key), overlay.has(key)]).toEqual([
          model.size,
          model.get(key),
          model.has(key),
        ]);
      }
      expect(sorted(overlay.entries())).toEqual(sorted(model.entries()));
      expect([...overlay.values()].sort()).toEqual([...model.values()].sort());
      expect(sorted(below.entries())).toEqual(before);

      const undo = new UndoLog();
      overlay.sink(undo);
      expect(sorted(below.entries())).toEqual(sorted(model.entries()));
      expect(undo.size).toBe([...overlay.changedKeys()].length);
      undo.run();
      expect(sorted(below.entries())).toEqual(before);
    }),
  );
});

test('the keys that an overlay changed are those that were set or removed', () => {
  const overlay = overlayOfPaths(
    new Map([
      ['a', 1],
      ['b', 2],
    ]),
  );
  overlay.set('c', 3);
  overlay.delete('a');
  overlay.delete('missing');
  expect([...overlay.changedKeys()].sort()).toEqual(['a', 'c']);
});

test('copies of an overlay change apart, and differ in what changed since', () => {
  const keys = Array.from({ length: 200 }, (_, i) => `key-${i}`);
  const set = fc.record({
    on: fc.nat(3),
    do: fc.constantFrom('set', 'delete', 'copy'),
    key: fc.constantFrom(...keys),
    value: fc.nat(9),
  });
  fc.assert(
    fc.property(fc.array(set, { minLength: 50, maxLength: 400 }), (steps) => {
      const below = new Map(keys.slice(0, 100).map((key) => [key, -1]));
      const versions = [{ overlay: overlayOfPaths<number>(below), model: new Map(below) }];
      for (const { on, do: act, key, value } of steps) {
        const at = versions[on % versions.length];
        if (at === undefined) continue;
        if (act === 'copy') {
          versions.push({ overlay: at.overlay.copy(), model: new Map(at.model) });
        } else if (act === 'delete') expect(at.overlay.delete(key)).toBe(at.model.delete(key));
        else {
          at.overlay.set(key, value);
          at.model.set(key, value);
        }
      }
      for (const { overlay, model } of versions) {
        expect(sorted(overlay.entries())).toEqual(sorted(model.entries()));
        expect(overlay.size).toBe(model.size);
      }
      for (const one of versions) {
        for (const other of versions) {
          const named = new Set(one.overlay.keysDifferingFrom(other.overlay));
          const differing = keys.filter((key) => one.model.get(key) !== other.model.get(key));
          expect(differing.filter((key) => !named.has(key))).toEqual([]);
        }
      }
    }),
  );
  const [one, other] = [overlayOfPaths<number>(new Map()), overlayOfPaths<number>(new Map())];
  expect(one.keysDifferingFrom(other)).toBeUndefined();
  for (const key of keys) one.set(key, 1);
  const copy = one.copy();
  expect(copy.keysDifferingFrom(one)).toEqual([]);
  copy.set('key-7', 2);
  expect(copy.keysDifferingFrom(one)).toEqual(['key-7']);
});

test('objects are found by the parts of their key', () => {
  const key = { group: 'g', kind: 'K', namespace: 'n', name: 'x' };
  const overlay = overlayOfKeys<number>(new KeyMap());
  overlay.set({ ...key }, 1);
  expect([overlay.get({ ...key }), overlay.get({ ...key, name: 'y' })]).toEqual([1, undefined]);
});

test('an undo restores the oldest value, once, and can be undone itself', () => {
  const map = new Map([['a', 1]]);
  const undo = new UndoLog();
  for (const [key, value] of [
    ['a', 2],
    ['a', 3],
    ['b', 4],
  ] as const) {
    undo.map(map, key);
    map.set(key, value);
  }
  const again = undo.run();
  expect([...map]).toEqual([['a', 1]]);
  map.set('a', 5);
  expect(undo.run().size).toBe(0);
  expect([...map]).toEqual([['a', 5]]);
  again.run();
  expect([...map]).toEqual([
    ['a', 3],
    ['b', 4],
  ]);
});
