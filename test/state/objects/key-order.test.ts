import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compareBytes, compareKeys } from '../../../src/state/objects/key-order.ts';
import { runs } from '../../support/properties.ts';
import { keyOf } from '../builders.ts';

test('texts are in the order of their bytes in UTF-8', () => {
  const near = fc.constantFrom('a', 'z', '\ud7ff', '\ue000', '\uffff', '\u{10000}', '\u{10ffff}');
  const text = fc.oneof(fc.string({ unit: near, maxLength: 5 }), fc.string({ unit: 'binary' }));
  fc.assert(
    fc.property(text, text, (a, b) => {
      expect(compareBytes(a, b)).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
    }),
    { numRuns: runs(1000) },
  );
});

test.each([
  { less: 'a/z', more: 'b/a' },
  { less: 'a/z', more: 'a-b/a' },
  { less: 'a/a', more: 'a/a-b' },
  { less: 'z', more: 'a/a' },
])('$less comes before $more', ({ less, more }) => {
  expect(compareKeys(keyOf(less), keyOf(more))).toBe(-1);
  expect(compareKeys(keyOf(more), keyOf(less))).toBe(1);
});
