/** Where people are sent after signing in: never anywhere else (reference: identity, section 1.8). */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { safeReturnTo } from '../../src/sign-in/return-to.ts';

test.each(['/', '/teams', '/teams?page=2#top', '/a/b%20c', '/x?to=//evil.example', '/ä'])(
  'a path of the platform stays: %s',
  (path) => {
    expect(decodeURI(safeReturnTo(path))).toBe(decodeURI(path));
  },
);

test.each([
  '//evil.example',
  '///evil.example',
  '/\\evil.example',
  '\\/evil.example',
  '\\\\evil.example',
  '/\t/evil.example',
  '/\n/evil.example',
  '/%5cevil.example',
  '/%2fevil.example',
  '/.//evil.example',
  '/a/..//evil.example',
  '/%09/evil.example',
  'https://evil.example/',
  'https:evil.example',
  'javascript:alert(1)',
  'data:text/html,x',
  'evil.example',
  '@evil.example',
  ' /teams',
  '/teams ',
  '/a%00b',
  '/\u0000',
  '/\ud800',
  `/${'x'.repeat(2048)}`,
  '',
])('anything else becomes the start page: %j', (wanted) => {
  expect(safeReturnTo(wanted)).toBe('/');
});

test('any wanted address stays on the own host, and passes a second check unchanged', () => {
  const parts = fc.constantFrom(
    '/',
    '\\',
    '.',
    '..',
    '%2f',
    '%5C',
    '@',
    ':',
    '?',
    '#',
    'evil',
    '\t',
  );
  fc.assert(
    fc.property(fc.array(parts, { maxLength: 8 }), (pieces) => {
      const path = safeReturnTo(pieces.join(''));
      for (const base of ['https://ours.example', 'http://ours.example:8080/auth/x']) {
        expect(new URL(path, base).origin).toBe(new URL(base).origin);
      }
      expect(path.startsWith('//')).toBe(false);
      expect(safeReturnTo(path)).toBe(path);
    }),
  );
});
