import { describe, expect, test } from 'vitest';
import { parseIdentities } from '../../src/sealing/data-keys.ts';
import { selectionOf } from '../../src/sealing/selection.ts';
import {
  changeRecipients,
  creationRuleFor,
  formatSopsConfig,
  parseSopsConfig,
  ruleOfKeys,
} from '../../src/sealing/sops-config.ts';
import { rulesFor, sopsConfigProblems } from '../../src/sealing/sops-config-check.ts';

const OURS = formatSopsConfig(
  [
    { folder: 'sharedsecrets', keys: ['data', 'kubectl.kubernetes.io/last-applied'] },
    { folder: 'config', keys: ['raw'] },
  ],
  ['age1ann', 'age1bob'],
);

const FINGERPRINT = '85D77543B3D624B63CEA9E6DBC17301B491B3F21';
const OTHERS = ['kms', 'gcp_kms', 'azure_keyvault', 'hc_vault_transit_uri', 'hckms'];

describe('rules for new files', () => {
  test.each([
    ['namespaces/a/sharedsecrets/b.yaml', '^(data|kubectl\\.kubernetes\\.io/last-applied)$'],
    ['config/platform.yml', '^raw$'],
    ['elsewhere/config.yaml', '^(data|kubectl\\.kubernetes\\.io/last-applied|raw)$'],
  ])('%s has the rule of its folder', (path, text) => {
    const rule = creationRuleFor(parseSopsConfig(OURS), path);

    expect(rule).toMatchObject({ rule: { text }, recipients: ['age1ann', 'age1bob'] });
  });

  test('a path that no rule names has none', () => {
    expect(creationRuleFor(parseSopsConfig(OURS), 'README.md')).toBeUndefined();
  });

  test.each([
    ['age1a, age1b,', ['age1a', 'age1b']],
    ['[age1a, age1a]', ['age1a']],
    ['""', []],
  ])('recipients as %s are read', (age, recipients) => {
    const text = `creation_rules:\n  - age: ${age}\n`;

    expect(creationRuleFor(parseSopsConfig(text), 'x')?.recipients).toEqual(recipients);
  });

  test.each([
    ['stores: {}', /1:1: creation_rules must be a list/],
    ['creation_rules:\n  - 1', /2:5: creation_rules\[0\]: must be a map/],
    [`creation_rules:\n  - pgp: ${FINGERPRINT}`, /2:5: creation_rules\[0\]: names PGP keys alone/],
    ['creation_rules:\n  - {age: age1x, pgp: ABC}', /2:5: .*"ABC" must be a whole fingerprint/],
    ...OTHERS.map((name): [string, RegExp] => [
      `creation_rules:\n  - age: age1x\n    ${name}: x`,
      new RegExp(`2:5: creation_rules\\[0\\]: names keys of ${name}; only age`),
    ]),
    ...OTHERS.map((name): [string, RegExp] => [
      `creation_rules:\n  - key_groups:\n      - ${name}: [{x: y}]`,
      new RegExp(`2:5: creation_rules\\[0\\]: names keys of ${name}; only age`),
    ]),
    [
      'creation_rules:\n  - shamir_threshold: 2\n    key_groups: [{age: [age1x]}, {age: [age1y]}]',
      /2:5: creation_rules\[0\]: has several key groups/,
    ],
    ['creation_rules:\n  - path_regex: "("', /is not a regular expression/],
    ['creation_rules:\n  - path_regex: "(a+)+$"', /repeats a group/],
    ['creation_rules:\n  - path_regex: "(?i)a"', /has a group with options/],
    [
      'creation_rules:\n  - {encrypted_regex: a, encrypted_suffix: b}',
      /has both encrypted_regex and/,
    ],
    ['creation_rules:\n  - encrypted_comment_regex: a', /is not supported; use encrypted_regex/],
    ['creation_rules:\n  - key_groups: [{}, {}]', /has several key groups/],
    ['a: [', /^1:\d: /],
  ])('%j is refused', (text, expected) => {
    expect(() => parseSopsConfig(text)).toThrow(expected);
  });
});

describe('recipients of the rules', () => {
  test('change in every rule, and comments stay', () => {
    const text = `# ours
creation_rules:
  - path_regex: a # first
    age: age1a,age1b
  - age:
      - age1a # ann
`;

    expect(changeRecipients(text, (list) => [...list, 'age1c'])).toBe(`# ours
creation_rules:
  - path_regex: a # first
    age: age1a,age1b,age1c
  - age:
      - age1a # ann
      - age1c
`);
  });

  test('recipients that match the rules change nothing', () => {
    expect(changeRecipients(OURS, (list) => list)).toBe(OURS);
  });
});

describe('patterns', () => {
  test.each([
    [['data'], '^data$'],
    [['b.c', 'a'], '^(a|b\\.c)$'],
  ])('patterns match the keys %j', (keys, text) => {
    expect(ruleOfKeys(keys)).toEqual({ name: 'encrypted_regex', text });
  });

  test.each([
    ['optional characters', `${'a?'.repeat(25)}${'[ab]'.repeat(25)}c`, 'a'.repeat(49)],
    ['alternatives', `${'(a|[ab])'.repeat(26)}[cd]`, 'a'.repeat(26)],
    ['two repeats', '.*.*=', 'a'.repeat(1024)],
  ])('%s are matched in linear time, and once for all values below a key', (_, text, key) => {
    const isSelected = selectionOf({ name: 'encrypted_regex', text });
    const below = Array.from({ length: 10_000 }, (_value, i) => [key, `b${i}`]);
    expect(below.filter(isSelected)).toEqual([]);
  });

  test('a pattern that is too long is refused before it is searched', () => {
    const text = '['.repeat(2 ** 20);
    expect(() => selectionOf({ name: 'encrypted_regex', text })).toThrow('is too long');
  });

  test.each([
    ['[]a]b', [']b', 'ab'], ['b']],
    ['^[^]]$', ['a'], [']']],
    ['a$', ['ba'], ['a\n']],
    ['^\\s$', [' '], ['\v', '\u00a0']],
  ])('%j is read as SOPS reads it', (text, selected, others) => {
    const isSelected = selectionOf({ name: 'encrypted_regex', text });
    const keys = [...selected, ...others].map((key) => [key]);
    expect(keys.filter(isSelected)).toEqual(selected.map((key) => [key]));
  });
});

describe('key files', () => {
  const KEY = `AGE-SECRET-KEY-1${'Q'.repeat(58)}`;

  test('hold identities, one a line, beside comments', () => {
    expect(parseIdentities(`# made for tests\n\n${KEY}\n${KEY}\n`)).toEqual([KEY, KEY]);
  });

  test('a key file with other content is refused, and the line is not repeated', () => {
    const text = `# key\n${KEY.toLowerCase()}\n`;

    expect(() => parseIdentities(text)).toThrow(/^line 2 is not an age identity/);
    expect(() => parseIdentities(text)).not.toThrow(/qqq/);
  });
});

test.each([
  ['of the largest size', 0, [1]],
  ['that is larger', 1, []],
])('warnings come from the rules of a .sops.yaml %s', (_size, more, found) => {
  const rules = 'creation_rules:\n  - path_regex: x\n#';
  const text = rules.padEnd(64 * 1024 + more, '#');
  expect(rulesFor(text, ['x', 'y']).map(({ paths }) => paths.length)).toEqual(found);
});

describe('a .sops.yaml that would stop writes', () => {
  const OURS = 'age1au9j4v23nzqpljsrvhywrdlk3fmklp3asr3prldaqqdwlndfma9s6w84dc';
  const OTHER = 'age1wcp6z50zttdertsh3ekvz98xp9jfutyheevy64eydflc2jmlz9esu57686';

  test.each<[string, string, string[]]>([
    ['is not YAML', 'creation_rules: [', ['1:18']],
    ['has no list of rules', 'creation_rules: x\n', ['1:1']],
    ['has no rule', 'creation_rules: []\n', ['1:17']],
    ['names others alone', `creation_rules:\n  - age: ${OTHER}\n`, ['2:3']],
    ['names nobody valid', `creation_rules:\n  - age: ${OURS},age1x\n`, ['2:10']],
    [
      'names nobody valid in a group',
      `creation_rules:\n  - key_groups:\n      - age: [age1x]\n`,
      ['2:5'],
    ],
    [
      'names too many',
      `creation_rules:\n  - age: ${Array.from({ length: 65 }, (_, i) => `age1${i}`).join(',')}\n`,
      ['2:5'],
    ],
    ['has a rule of a kind that is not known', 'creation_rules:\n  - kms: x\n', ['2:5']],
    [
      'names a PGP key that is not here',
      `creation_rules:\n  - age: ${OURS}\n    pgp: ${FINGERPRINT}\n`,
      ['2:5'],
    ],
    ['is too large', `creation_rules:\n${'  - age: x\n'.repeat(25_000)}`, ['1:1']],
    [
      'has hundreds of problems',
      `creation_rules:\n${Array.from({ length: 300 }, (_, i) => `  - age: x${i}\n`).join('')}`,
      Array.from({ length: 101 }, (_, i) => `${i + 2}:10`),
    ],
    [
      'names hundreds of PGP keys that are not here',
      `creation_rules:\n${`  - {age: ${OURS}, pgp: ${FINGERPRINT}}\n`.repeat(300)}`,
      Array.from({ length: 101 }, (_, i) => `${i + 2}:5`),
    ],
    ['names us beside others', `creation_rules:\n  - age: ${OTHER},${OURS}\n`, []],
    ['names nobody, which means us', 'creation_rules:\n  - path_regex: x\n', []],
    [
      'names others for some files',
      `creation_rules:\n  - path_regex: ^apps/\n    age: ${OTHER}\n  - age: ${OURS}\n`,
      [],
    ],
  ])('is found where it %s', async (_, text, places) => {
    const problems = await sopsConfigProblems(text, [OURS]);

    expect(problems.map(({ line, col }) => `${line}:${col}`)).toEqual(places);
  });

  test('is told with the number of problems beyond the first hundred', async () => {
    const rules = Array.from({ length: 150 }, (_, i) => `  - age: x${i}\n`);
    const problems = await sopsConfigProblems(`creation_rules:\n${rules.join('')}`, [OURS]);

    expect(problems.at(-1)).toEqual({
      line: 102,
      col: 10,
      message: 'creation_rules[100].age: and 50 more problems',
    });
  });
});
