import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatPlace } from '../../../src/endpoint-patches/paths/format.ts';
import { parsePath } from '../../../src/endpoint-patches/paths/parse.ts';
import { PathSyntaxError } from '../../../src/endpoint-patches/paths/path.ts';
import { runs } from '../../support/properties.ts';

/** Keys as they are, wildcards as true. */
function segments(text: string): (string | true)[] {
  return parsePath(text).map((segment) => ('key' in segment ? segment.key : segment.wildcard));
}

test.each<[string, (string | true)[]]>([
  ['', []],
  ['  ', []],
  ['spec', ['spec']],
  [' spec.replicas ', ['spec', 'replicas']],
  ['a..b', ['a', 'b']],
  ['.a.', ['a']],
  ['a[0].b', ['a', '0', 'b']],
  ['a.0.b', ['a', '0', 'b']],
  ['a[0]b', ['a', '0', 'b']],
  ['a[b.c]', ['a', 'b.c']],
  ['a[ b ]', ['a', ' b ']],
  ['metadata.annotations["example.com/key"]', ['metadata', 'annotations', 'example.com/key']],
  ["metadata.annotations['example.com/key']", ['metadata', 'annotations', 'example.com/key']],
  ['spec.rules."test.object.other".0', ['spec', 'rules', 'test.object.other', '0']],
  ["spec.rules.'test.object.other'.0", ['spec', 'rules', 'test.object.other', '0']],
  ['a."x[0].y"', ['a', 'x[0].y']],
  ['a."b"c', ['a', 'bc']],
  [`a["it's"]`, ['a', "it's"]],
  [`a['say "so"']`, ['a', 'say "so"']],
  ["a.it's", ['a', "it's"]],
  ['subsets[*].addresses.*.ip', ['subsets', true, 'addresses', true, 'ip']],
  ['*', [true]],
  ['foo*', ['foo*']],
  ['a["*"]', ['a', '*']],
  ['größe.名前[0]', ['größe', '名前', '0']],
  ['a.__proto__', ['a', '__proto__']],
])('%j reads as %j', (text, expected) => {
  expect(segments(text)).toEqual(expected);
});

test.each([
  ['a[[', 'unexpected bracket in bracket in a[[ at 2', 2],
  ['a[]', 'unexpected empty segment in a[] at 2', 2],
  ['a[""]', 'unexpected empty segment in a[""] at 4', 4],
  ['a]', 'unexpected bracket close in bracket in a] at 1', 1],
  ['a["b]', 'unclosed quote in path', 2],
  ["a['b]", 'unclosed quote in path', 2],
  ['a[b', 'unclosed bracket in path', 1],
])('%j is refused: %s', (text, message, offset) => {
  expect(() => parsePath(text)).toThrow(new PathSyntaxError(message, offset));
  try {
    parsePath(text);
  } catch (error) {
    expect(error).toMatchObject({ offset });
  }
});

describe('laws', () => {
  const key = fc
    .oneof(fc.string({ minLength: 1 }), fc.constantFrom('*', 'a.b/c', '__proto__', ' ', '[0]', "'"))
    .filter((text) => !(text.includes('"') && text.includes("'")));
  const place = fc.array(fc.oneof(key, fc.nat(1000)), { maxLength: 5 });

  test('a formatted place parses to a path to it', () => {
    fc.assert(
      fc.property(place, (steps) => {
        const read = parsePath(formatPlace(steps));
        expect(read).toEqual(steps.map((step) => ({ key: String(step) })));
      }),
      { numRuns: runs(500) },
    );
  });

  test('any text is read or refused with a place inside of it', () => {
    const text = fc.string({ unit: fc.constantFrom('a', '.', '[', ']', '"', "'", '*', ' ', 'ß') });
    fc.assert(
      fc.property(text, (path) => {
        try {
          parsePath(path);
        } catch (error) {
          expect(error).toBeInstanceOf(PathSyntaxError);
          expect((error as PathSyntaxError).offset).toBeLessThan(path.length);
        }
      }),
      { numRuns: runs(1000) },
    );
  });
});
