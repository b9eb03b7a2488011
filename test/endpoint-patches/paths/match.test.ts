import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../../../src/apimachinery/object.ts';
import { formatPlace } from '../../../src/endpoint-patches/paths/format.ts';
import { MOST_MATCHES, matchPath } from '../../../src/endpoint-patches/paths/match.ts';
import { parsePath } from '../../../src/endpoint-patches/paths/parse.ts';
import { writePlaces } from '../../../src/endpoint-patches/paths/write.ts';
import { runs } from '../../support/properties.ts';

const ENDPOINTS = {
  metadata: { annotations: { 'b/x': '1', 'a.b/c': '2' }, name: 'web' },
  subsets: [
    { addresses: [{ ip: '10.0.0.1' }, { ip: '10.0.0.2', hostname: 'two' }] },
    { notReadyAddresses: [{ ip: '10.0.0.3' }] },
  ],
  none: null,
};

function places(path: string, value: unknown = ENDPOINTS): string[] {
  return matchPath(value, parsePath(path)).places.map(formatPlace);
}

test.each<[string, string[], number]>([
  ['', [''], 0],
  ['metadata.name', ['metadata.name'], 0],
  ['subsets[*].addresses[*].ip', ['subsets.0.addresses.0.ip', 'subsets.0.addresses.1.ip'], 1],
  ['subsets.*.addresses.*.hostname', ['subsets.0.addresses.1.hostname'], 2],
  ['subsets[1].notReadyAddresses[0]', ['subsets.1.notReadyAddresses.0'], 0],
  ['metadata.annotations.*', ['metadata.annotations."a.b/c"', 'metadata.annotations.b/x'], 0],
  ['metadata.annotations[*]', ['metadata.annotations."a.b/c"', 'metadata.annotations.b/x'], 0],
  ['none', ['none'], 0],
  ['none.x', [], 1],
  ['subsets[2]', [], 1],
  ['subsets[-1]', [], 1],
  ['subsets.length', [], 1],
  ['metadata.name.length', [], 1],
  ['metadata.labels["new"]', [], 1],
  ['metadata.toString', [], 1],
  ['__proto__.x', [], 1],
  ['constructor', [], 1],
])('%s leads to %j', (path, expected, missed) => {
  expect(places(path)).toEqual(expected);
  expect(matchPath(ENDPOINTS, parsePath(path)).missed).toBe(missed);
});

test('the order of keys in the object does not matter', () => {
  expect(places('*', { b: 1, a: 2, c: 3 })).toEqual(places('*', { c: 3, a: 2, b: 1 }));
});

test('more matches than any user means are an error', () => {
  const wide = Array.from({ length: 101 }, () => Array.from({ length: 100 }, () => 0));

  expect(() => places('*.*', wide)).toThrow(`more than ${MOST_MATCHES}`);
});

describe('writing', () => {
  function written(value: JsonValue, path: string, result: JsonValue | undefined): JsonValue {
    const found = matchPath(value, parsePath(path)).places;
    writePlaces(
      value,
      found.map((place) => ({ place, value: result })),
    );
    return value;
  }

  test('values are put where they were found', () => {
    expect(written({ a: [{ b: 1 }, {}, { b: 2 }] }, 'a[*].b', 3)).toEqual({
      a: [{ b: 3 }, {}, { b: 3 }],
    });
  });

  test('map keys are deleted', () => {
    expect(written({ a: [{ b: 1, c: 1 }, { c: 2 }] }, 'a[*].b', undefined)).toEqual({
      a: [{ c: 1 }, { c: 2 }],
    });
  });

  test('list elements are removed, all of them at their own place', () => {
    expect(written([[1, 2, 3], [4]], '*.*', undefined)).toEqual([[], []]);
    expect(written([0, 1, 2], '[1]', undefined)).toEqual([0, 2]);
  });

  test('a key that is called __proto__ is a key', () => {
    const value = JSON.parse('{"__proto__":{"a":1}}') as JsonValue;

    expect(JSON.stringify(written(value, '__proto__', { b: 2 }))).toBe('{"__proto__":{"b":2}}');
    expect({}).not.toHaveProperty('b');
  });
});

test('every value has a path that leads to it and to nothing else', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      for (const place of allPlaces(value)) {
        const text = formatPlace(place);
        if (text.includes('"') && text.includes("'")) continue;
        expect(matchPath(value, parsePath(text)).places).toEqual([place]);
      }
    }),
    { numRuns: runs(200) },
  );
});

function allPlaces(value: unknown, place: readonly (string | number)[] = []): Place[] {
  if (typeof value !== 'object' || value === null) return [place];
  const steps = Array.isArray(value) ? value.map((_item, i) => i) : Object.keys(value);
  const inside = steps
    .filter((step) => step !== '')
    .flatMap((step) => allPlaces((value as Record<string, unknown>)[step], [...place, step]));
  return [place, ...inside];
}

type Place = readonly (string | number)[];
