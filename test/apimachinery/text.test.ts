/** Names are folded as file systems that ignore case compare them. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { caseFolded, shownPath, terminalJson, terminalText } from '../../src/apimachinery/text.ts';

test.each([
  ['Teams/X.YAML', 'teams/x.yaml'],
  ['ſales', 'sales'],
  ['e\u034f\u0301', '\u00e9'],
  ['go\u00ado\u200bd\u{e0001}', 'good'],
])('folds %j', (text, folded) => expect(caseFolded(text)).toBe(folded));

test('folds what is folded to itself', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const folded = caseFolded(text);
      expect(caseFolded(folded)).toBe(folded);
    }),
  );
});

test('shows characters that no font shows by their numbers', () => {
  expect(shownPath('a\u00ad\u{e0001}.yaml')).toBe('"a\\u00ad\\udb40\\udc01.yaml"');
});

test('lines for a terminal have no character that it obeys', () => {
  const hostile = 'a\u001b]0;title\u0007\u009b2J\r\u202eb\tc\nd';
  expect(terminalText(hostile)).toBe('a\\u001b]0;title\\u0007\\u009b2J\\u000d\\u202eb\tc\nd');
});

test('lines for a terminal keep emoji, and lose the line ends of other systems', () => {
  expect(terminalText('ssh: refused\r\nfatal\r')).toBe('ssh: refused\nfatal\\u000d');
  const emoji = 'a \u2764\ufe0f \u{1f469}\u{1f3fd}\u200d\u{1f4bb} \u{1f3f3}\ufe0f\u200d\u{1f308}';
  expect(terminalText(emoji)).toBe(emoji);
  expect(terminalText('admin\u200d\ufe0f')).toBe('admin\\u200d\\ufe0f');
});

test('JSON for a terminal has the same value, and no character that it obeys', () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
      const shown = terminalJson({ '\\\u009b2J': value });
      expect(JSON.stringify(JSON.parse(shown))).toBe(JSON.stringify({ '\\\u009b2J': value }));
      expect(shown).toContain('\\u009b2J');
      expect(terminalText(shown)).toBe(shown);
    }),
  );
});
