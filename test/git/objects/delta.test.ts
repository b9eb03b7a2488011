/** Deltas of texts: always exact, and small where lines or their ends are the same. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { applyDelta, composeDeltas, sizesOf, textDelta } from '../../../src/git/objects/delta.ts';
import { runs } from '../../support/properties.ts';

const line = fc.oneof(
  fc.constantFrom('', 'a', 'name: ada', 'name: grace', '  - ada'),
  fc.string({ maxLength: 300, unit: 'binary' }),
);
const text = fc
  .tuple(fc.array(line, { maxLength: 8 }), fc.boolean())
  .map(([lines, ends]) => Buffer.from(lines.join('\n') + (ends ? '\n' : '')));

test('a delta makes the newer text from the older one, also over several versions', () => {
  fc.assert(
    fc.property(text, text, text, (a, b, c) => {
      const [first, second] = [textDelta(a, b), textDelta(b, c)];
      expect(applyDelta(a, first)).toEqual(b);
      expect(sizesOf(first)).toEqual({ base: a.length, result: b.length });
      expect(applyDelta(a, composeDeltas(first, second))).toEqual(c);
    }),
    { numRuns: runs(300) },
  );
});

test.each([
  ['the same text', 'kind: Team\nname: a\n', 'kind: Team\nname: a\n', 6],
  ['another value', 'kind: Team\nname: a\nteam: b\n', 'kind: Team\nname: x\nteam: b\n', 12],
  ['a line more', 'one\ntwo\nthree\n', 'one\nadded\ntwo\nthree\n', 16],
  ['a line less', 'one\ntwo\nthree\n', 'one\nthree\n', 9],
  ['nothing in common', 'abc', 'xyz', 6],
])('the delta of %s is small', (_what, older, newer, most) => {
  const delta = textDelta(Buffer.from(older), Buffer.from(newer));
  expect(applyDelta(Buffer.from(older), delta).toString()).toBe(newer);
  expect(delta.length).toBeLessThanOrEqual(most);
});

test('a delta of long texts with nothing in common is exact, composed too', () => {
  const texts = ['a', 'b', 'c'].map((letter) => Buffer.from(`${letter.repeat(40_000)}\n`));
  const [a, b, c] = texts as [Buffer, Buffer, Buffer];
  const [first, second] = [textDelta(a, b), textDelta(b, c)];
  expect(applyDelta(a, first)).toEqual(b);
  expect(applyDelta(a, composeDeltas(first, second))).toEqual(c);
});
