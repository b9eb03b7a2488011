import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodePath, encodePath } from '../../../src/git/objects/path-text.ts';
import { runs } from '../../support/properties.ts';

const bytes = fc.oneof(
  fc.uint8Array(),
  fc.array(fc.constantFrom(0x61, 0x80, 0xc3, 0xa4, 0xe2, 0x82, 0xac, 0xed, 0xb2, 0xf0, 0x9f, 0xff)),
);

test('any bytes decode to text and encode back', () => {
  fc.assert(
    fc.property(bytes, (array) => {
      const path = Buffer.from(array);
      expect(encodePath(decodePath(path))).toEqual(path);
    }),
    { numRuns: runs(1000) },
  );
});

test('valid UTF-8 is the text it is', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(decodePath(Buffer.from(text))).toBe(text);
      expect(encodePath(text)).toEqual(Buffer.from(text));
    }),
  );
});

test.each([
  [[0xff], '\udcff'],
  [[0x61, 0xc3, 0x62], 'a\udcc3b'],
  [[0xed, 0xb2, 0x80], '\udced\udcb2\udc80'],
  [[0xc3, 0xa4, 0xfe], 'ä\udcfe'],
])('%j is %j', (array, text) => {
  expect(decodePath(Buffer.from(array))).toBe(text);
});
