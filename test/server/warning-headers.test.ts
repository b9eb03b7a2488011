/** Warnings of a response fit in the headers that clients read: 16 KiB in Node, less in proxies. */
import { expect, test } from 'vitest';
import { warningHeaders } from '../../src/server/output/answer.ts';

test('shows few warnings whole', () => {
  expect(warningHeaders(['a "b"', 'a "b"', 'c\nd'])).toEqual(['299 - "a \\"b\\""', '299 - "c d"']);
});

test.each([
  ['plain texts', 'spec.scope.roles: something about an entry'],
  ['quotes and backslashes', '"\\'.repeat(500)],
  ['characters that need an escape', '\u{1f600}'.repeat(500)],
])('counts the last of thousands of warnings: %s', (_title, text) => {
  const headers = warningHeaders(Array.from({ length: 5_000 }, (_, i) => `${i} ${text}`));
  expect(headers.join('').length).toBeLessThan(12 * 1024);
  expect(headers.at(-1)).toBe('299 - "4984 more warnings are not shown"');
});

test('counts the last of many warnings of two characters', () => {
  const headers = warningHeaders(Array.from({ length: 999 }, (_, i) => String(i)));
  const bytes = headers.reduce((sum, text) => sum + `warning: ${text}\r\n`.length, 0);
  expect(bytes).toBeLessThan(12 * 1024);
  expect(headers.at(-1)).toBe('299 - "983 more warnings are not shown"');
});
