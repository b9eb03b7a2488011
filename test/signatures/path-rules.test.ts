import { describe, expect, test } from 'vitest';
import { parsePathRules, SIGN_EVERYTHING } from '../../src/signatures/path-rules.ts';

function ruleOf(...paths: string[]) {
  const [rule] = parsePathRules(JSON.stringify({ rules: [{ paths }] }), 'f').rules;
  if (rule === undefined) throw new Error('there is no rule');
  return rule;
}

describe('a pattern', () => {
  test.each([
    ['config/', 'config/a', true],
    ['config/', 'config/a/b', true],
    ['config/', 'config', false],
    ['config/', 'Config/a', false],
    ['config/', 'x/config/a', false],
    ['/config/', 'config/a', true],
    ['config', 'config', true],
    ['config', 'config/a', false],
    ['config/*', 'config/a', true],
    ['config/*', 'config/a/b', false],
    ['config/**', 'config/a/b', true],
    ['**', 'a/b', true],
    ['**/*.yaml', 'a.yaml', true],
    ['**/*.yaml', 'a/b.yaml', true],
    ['**/*.yaml', 'a/b.yml', false],
    ['a/**/z', 'a/z', true],
    ['a/**/z', 'a/b/c/z', true],
    ['a/**/z', 'az', false],
    ['a?c', 'abc', true],
    ['a?c', 'a/c', false],
    ['a.c', 'abc', false],
    ['(a|b)', 'a', false],
    ['a+[b]{c}$', 'a+[b]{c}$', true],
    ['**', 'a\nb', true],
    ['config/', 'config/a\nb', true],
    ['config/*', 'config/a\nb', true],
  ])('%s for %j: %s', (pattern, path, expected) => {
    expect(ruleOf(pattern).matches(path)).toBe(expected);
  });

  test('a path needs only one of several patterns', () => {
    const rule = ruleOf('a', 'b/');

    expect(['a', 'b/c', 'c'].map((path) => rule.matches(path))).toEqual([true, true, false]);
  });
});

test('a policy requires signatures by default', () => {
  expect(parsePathRules('rules: []', 'f')).toEqual(SIGN_EVERYTHING);
  expect(parsePathRules('require: false', 'f')).toEqual({ ...SIGN_EVERYTHING, require: false });
});

test('fingerprints of OpenPGP keys may be written as gpg shows them', () => {
  const shown = '0123 4567 89ab cdef 0123  4567 89AB CDEF 0123 4567';
  const text = JSON.stringify({ rules: [{ paths: ['a'], signers: [shown, 'a b'] }] });

  expect(parsePathRules(text, 'f').rules[0]?.signers).toEqual([
    '0123456789ABCDEF0123456789ABCDEF01234567',
    'a b',
  ]);
});

describe('a policy that is wrong is refused with its file and place:', () => {
  test.each([
    ['', 'write a map'],
    ['- a', 'write a map'],
    ['a: [', 'line 1'],
    ['rule: []', 'rule: unknown field'],
    ['require: yes please', 'require: write true or false'],
    ['trusted: abc', 'trusted: write a full commit id'],
    ['rules: {}', 'rules: write a list'],
    ['rules: [a]', 'rules[0]: write a map'],
    ['rules: [{ paths: [a] }, { path: [a] }]', 'rules[1].path: unknown field'],
    ['rules: [{ signers: [a] }]', 'rules[0].paths: write a list'],
    ['rules: [{ paths: [] }]', 'rules[0].paths: write a list'],
    ['rules: [{ paths: a }]', 'rules[0].paths: write a list'],
    ['rules: [{ paths: [a, ""] }]', 'rules[0].paths: write a list'],
    ['rules: [{ paths: [a], signers: [] }]', 'rules[0].signers: write a list'],
    ['rules: [{ paths: [a], signers: [1] }]', 'rules[0].signers: write a list'],
    ['require: true\nrequire: false', 'unique'],
    ['a: &a [x]\nb: *a', 'Alias resolution is disabled'],
  ])('%j', (text, why) => {
    expect(() => parsePathRules(text, 'p.yaml')).toThrow(
      expect.objectContaining({
        message: expect.stringMatching(/^Cannot use the signature policy p\.yaml: /),
      }),
    );
    expect(() => parsePathRules(text, 'p.yaml')).toThrow(why);
  });
});
