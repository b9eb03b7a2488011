/** Texts in the memory of the engine: the bytes that every other reader of UTF-8 has. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { engineTexts } from '../../src/endpoint-patches/sandbox/engine-text.ts';

const AT = 64;

function newMemory(): WebAssembly.Memory {
  return new WebAssembly.Memory({ initial: 1, maximum: 4 });
}

test('every text without zeros comes back, and takes as many bytes as it says', () => {
  const text = fc
    .string({ unit: 'grapheme', maxLength: 200 })
    .map((some) => some.replaceAll('\0', ''));
  fc.assert(
    fc.property(text, (some) => {
      const memory = newMemory();
      const texts = engineTexts(memory);
      const size = texts.lengthBytesUTF8(some);
      texts.stringToUTF8(some, AT, size + 1);
      const bytes = new Uint8Array(memory.buffer, AT, size + 1);
      expect(bytes).toEqual(new Uint8Array([...new TextEncoder().encode(some), 0]));
      expect(texts.UTF8ToString(AT)).toBe(some);
    }),
  );
});

test.each([
  ['ab', 3, 'ab'],
  ['abc', 3, 'ab'],
  ['aé', 3, 'a'],
  ['a\u{1f600}', 5, 'a'],
  ['', 1, ''],
])('%j written into %i bytes is %j, and nothing behind them is touched', (text, size, left) => {
  const memory = newMemory();
  const bytes = new Uint8Array(memory.buffer).fill(7);
  const texts = engineTexts(memory);
  texts.stringToUTF8(text, AT, size);

  expect(texts.UTF8ToString(AT)).toBe(left);
  expect([bytes[AT - 1], bytes[AT + size]]).toEqual([7, 7]);
});

test('half of a surrogate pair is replaced, never written', () => {
  const texts = engineTexts(newMemory());
  const size = texts.lengthBytesUTF8('a\ud800b');
  texts.stringToUTF8('a\ud800b', AT, size + 1);

  expect(texts.UTF8ToString(AT)).toBe('a\ufffdb');
});

test('memory that has grown is read where it is now', () => {
  const memory = newMemory();
  const texts = engineTexts(memory);
  texts.stringToUTF8('before', AT, 7);
  memory.grow(1);
  const far = 65_536 + AT;
  texts.stringToUTF8('after', far, 6);

  expect([texts.UTF8ToString(AT), texts.UTF8ToString(far)]).toEqual(['before', 'after']);
  expect(texts.UTF8ToString(0)).toBe('');
});
