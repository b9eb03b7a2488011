import fc from 'fast-check';
import { expect, test } from 'vitest';
import { comparePlaces, type Place } from '../../src/catalog/catalog-object.ts';
import { Places } from '../../src/catalog/places.ts';
import { runs } from '../support/properties.ts';

const place = fc.record({ path: fc.constantFrom('a', 'b', 'c', 'd'), index: fc.nat(300) });
const change = fc.record({
  removed: fc.array(place, { maxLength: 200, size: 'max' }),
  added: fc.array(place, { maxLength: 200, size: 'max' }),
});

/** Sorted, each once. */
function model(
  before: readonly Place[],
  { removed, added }: typeof change extends fc.Arbitrary<infer C> ? C : never,
): Place[] {
  const found = new Map(before.map((one) => [`${one.path} ${one.index}`, one]));
  for (const { path, index } of removed) found.delete(`${path} ${index}`);
  for (const one of added) found.set(`${one.path} ${one.index}`, one);
  return [...found.values()].sort(comparePlaces);
}

test('places are a sorted set, and a change leaves the version before it', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 12 }), (changes) => {
      let [places, expected]: [Places, Place[]] = [Places.none, []];
      for (const one of changes) {
        const [before, wasExpected] = [places, expected];
        places = places.changed(one.removed, one.added);
        expected = model(expected, one);
        expect([...places]).toEqual(expected);
        expect([...before]).toEqual(wasExpected);
        expect([places.size, places.first]).toEqual([expected.length, expected[0]]);
        for (const path of ['a', 'b', 'c', 'd', 'e']) {
          expect(places.firstIn(path)).toEqual(expected.find((of) => of.path === path));
        }
      }
    }),
    { numRuns: runs(100) },
  );
});
