import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isScalar, parseAllDocuments } from 'yaml';
import { parseManifests } from '../../src/manifests/parse.ts';
import { plainJson } from '../../src/manifests/plain/plain-json.ts';
import { parsePlainYaml } from '../../src/manifests/plain/plain-yaml.ts';
import { runs } from '../support/properties.ts';
import {
  documents,
  inlineSoup,
  lineSoup,
  mutants,
  scalarSoup,
  strings,
} from './plain-yaml-arbitraries.ts';
import { DEPLOYMENT, ENDPOINT_SYNC, SECRET, TEAM } from './plain-yaml-samples.ts';

/** Cases of each property; raise it to hunt: `FUZZ_RUNS=1000000 npx vitest run test/manifests`. */
const RUNS = runs(1_000);
const FUZZ_TIMEOUT = 30_000 + RUNS * 10;

type Reading = { index: number; value: unknown }[] | 'problems';

/** Result of the library alone. */
function readByLibrary(text: string, version: '1.1' | '1.2'): Reading {
  const documents = [...parseAllDocuments(text, { version, logLevel: 'silent' })];
  if (documents.some(({ errors, warnings }) => errors.length + warnings.length > 0))
    return 'problems';
  return documents.flatMap((document, index) => {
    const { contents } = document;
    const isEmpty = contents === null || (isScalar(contents) && contents.source === '');
    return isEmpty ? [] : [{ index, value: document.toJS() as unknown }];
  });
}

/** A comment changes nothing but the road: a surrogate is never read fast. */
const SLOWLY = '# \u{1f40c}\n';

function readSlowly(text: string): Reading {
  const { documents } = parseManifests(SLOWLY + text);
  if (documents.some(({ problems }) => problems.length > 0)) return 'problems';
  return documents.map(({ index, value }) => ({ index, value }));
}

const JUDGES: [string, (text: string) => Reading][] = [
  ['parseManifests', readSlowly],
  ['YAML 1.2', (text) => readByLibrary(text, '1.2')],
  ['YAML 1.1', (text) => readByLibrary(text, '1.1')],
];

/** The one that gives JSON reads only what the other one reads, and says the same of it. */
function checkJson(text: string): void {
  const read = plainJson(Buffer.from(text));
  if (read === undefined) return;
  const fast = parsePlainYaml(text);
  const shown = JSON.stringify({ text, read, fast }, undefined, 1);
  const [only, ...others] = fast ?? [];
  const agree =
    only?.index === 0 && others.length === 0 && JSON.stringify(only.value) === read.json;
  if (!agree) throw new Error(`plainJson reads it differently: ${shown}`);
  const hasNull = read.json.includes('null') && JSON.stringify(dropNulls(only.value)) !== read.json;
  if (hasNull !== read.hasNull) throw new Error(`plainJson is wrong about null: ${shown}`);
  const [document] = parseManifests(text).documents;
  if (document?.locate([]).line !== read.line) {
    throw new Error(`plainJson begins elsewhere: ${shown}`);
  }
}

function dropNulls(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_, inner: unknown) => inner ?? 'none'));
}

/** True when the text was read fast. Fails when anyone reads it differently. */
function agrees(text: string): boolean {
  checkJson(text);
  const fast = parsePlainYaml(text);
  if (fast === undefined) return false;
  for (const [judge, read] of JUDGES) {
    const judged = read(text);
    // The text of it as well: it tells the order of the keys.
    if (!isDeepStrictEqual(fast, judged) || JSON.stringify(fast) !== JSON.stringify(judged)) {
      const shown = JSON.stringify({ text, fast, judged }, undefined, 1);
      throw new Error(`${judge} reads it differently: ${shown}`);
    }
  }
  return true;
}

/** Runs the law on many texts; `atLeast` of them (a share) must differ and have been read fast. */
function holdsFor(texts: fc.Arbitrary<string>, atLeast: number): void {
  const fast = new Set<string>();
  const law = fc.property(texts, (text) => {
    if (!fast.has(text) && agrees(text)) fast.add(text);
  });
  fc.assert(law, { numRuns: RUNS });
  if (process.env['FUZZ_RUNS'] !== undefined) {
    const name = expect.getState().currentTestName;
    process.stdout.write(`${name}: ${RUNS} texts, ${fast.size} different ones read fast\n`);
  }
  // A long hunt repeats itself more and more.
  expect(fast.size / Math.min(RUNS, 2_000)).toBeGreaterThan(atLeast);
}

describe('the plain subset', () => {
  test.each([
    ['a team', TEAM],
    ['several documents', SECRET],
    ['a workload', DEPLOYMENT],
    ['tenant configuration', ENDPOINT_SYNC],
    ['nothing', ''],
    ['nothing but a comment', '# a remark\n\n'],
    ['nothing but empty documents', '---\n---\n# a remark\n---'],
    ['a list', '- a\n-\n-   b: 1\n    c: 2\n- - - d\n'],
    ['no newline at the end', 'a:\n  b: c'],
    ['an indented document', '  a: 1\n  b: 2\n'],
    ['comments at any column', 'a:\n# x\n      # y\n  b: 1\n    # z\n # w\nc: # v\n  - 1 #u\n'],
    ['keys that are ordered as numbers', 'a: 1\n"2": 2\n"1": 3\n'],
    ['quoted keys', '"a b": 1\n\'c: d\': 2\n'],
    ['keys that look like files', '.dockerconfigjson: a\ntls.crt: b\nMakefile: c\n'],
    ['a literal as the last thing, unterminated', 'a: |\n  b\n  c'],
  ])('%s', (_, text) => {
    expect(agrees(text)).toBe(true);
  });

  test.each<[string, unknown]>([
    ['null', null],
    ['true', true],
    ['false', false],
    ['0', 0],
    ['-12', -12],
    ['999999999999999', 999_999_999_999_999],
    ['0.50', 0.5],
    ['10m', '10m'],
    ['128Mi', '128Mi'],
    ['10.0.0.0', '10.0.0.0'],
    ['10.0.0.0/16', '10.0.0.0/16'],
    ['10.0.0.1:8443', '10.0.0.1:8443'],
    ['1.2.3', '1.2.3'],
    ['0be51c62-4e1d-47d5-b586-3662456e2a89', '0be51c62-4e1d-47d5-b586-3662456e2a89'],
    ['--flag=1', '--flag=1'],
    ['+yLtEUBZ/N5OQldh9Hk=', '+yLtEUBZ/N5OQldh9Hk='],
    ['+9LtEUBZ', '+9LtEUBZ'],
    ['+/x', '+/x'],
    ['++35UTcYgp/K=', '++35UTcYgp/K='],
    ['++5', '++5'],
    ['nobody', 'nobody'],
    ['once', 'once'],
    ['a:b #c', 'a:b'],
    ['a#b', 'a#b'],
    ['it said "x", {y} [z]', 'it said "x", {y} [z]'],
    ['https://example.com:8443/?a=b', 'https://example.com:8443/?a=b'],
    ['ENC[AES256_GCM,data:a,iv:b,tag:c,type:str]', 'ENC[AES256_GCM,data:a,iv:b,tag:c,type:str]'],
    ["'a '' b'", "a ' b"],
    ["'\\n'", '\\n'],
    ['"\\"\\\\\\n\\t\\r\\/"', '"\\\n\t\r/'],
    ['"# : - {"', '# : - {'],
    ['[]', []],
    ['{ }', {}],
    ['[a, 1, "b c", [true], {d: e}]', ['a', 1, 'b c', [true], { d: 'e' }]],
    ['{a: 1, b: [], c: {}}', { a: 1, b: [], c: {} }],
    ['|\n  a\n   b\n\n  c\n', 'a\n b\n\nc\n'],
    ['|-\n  a\n\n', 'a'],
    ['|+\n\n  a\n\n \n', '\na\n\n\n'],
    ['>\n  a\n  b\n\n\n  c', 'a b\n\nc\n'],
    ['>- # why\n  a', 'a'],
    ['>\n\n \n  a\n  b', '\n\na b\n'],
    ['', null],
    ['# no value', null],
  ])('the value %j', (source, value) => {
    const text = `key: ${source}`;
    expect(agrees(text)).toBe(true);
    expect(parsePlainYaml(text)).toEqual([{ index: 0, value: { key: value } }]);
  });

  test.each([
    ['a team', TEAM],
    ['a mark, comments and nothing at the end', '# a\n\n---\n# b\nkey: value'],
    ['lists and maps', 'a:\n- b: 1\n  c:\n    - []\n    - [get, "a b"]\n'],
  ])('is JSON at once: %s', (_, text) => {
    const value = parsePlainYaml(text)?.[0]?.value;
    expect(plainJson(Buffer.from(text))?.json).toBe(JSON.stringify(value));
  });

  test.each([
    ['a zero', 'a: b\0c\n'],
    ['a zero at the end', 'a: b\n\0'],
    ['a zero for a value', 'a: \0\nb: 1\n'],
    ['the same key again', 'a: 1\n"a": 2\n'],
    ['a key that every object has', '__proto__: 1\n'],
    ['a key that is an index', '"1": 1\n'],
    ['a word that is none to others', 'a: yes\n'],
    ['another document', 'a: 1\n---\nb: 2\n'],
    ['other letters', 'a: \u00e4\n'],
    ['a block', 'a: |\n  b\n'],
    ['depth', `${Array.from({ length: 40 }, (_, i) => `${' '.repeat(i)}a:`).join('\n')} 1\n`],
    ['nothing', ''],
    ['size', `a: ${'b'.repeat(70_000)}\n`],
  ])('is left to others: %s', (_, text) => {
    expect(plainJson(Buffer.from(text))).toBeUndefined();
  });

  test('gives each document its place in the stream', () => {
    const text = '# first\n---\n---\na: 1\n--- # third\n# empty\n---\n- b\n---\n';
    expect(agrees(text)).toBe(true);
    expect(parsePlainYaml(text)).toEqual([
      { index: 1, value: { a: 1 } },
      { index: 3, value: ['b'] },
    ]);
  });
});

describe('text outside of the subset is left to the library', () => {
  test.each([
    ...['y', 'Y', 'yes', 'Yes', 'YES', 'n', 'N', 'no', 'NO', 'on', 'On', 'OFF', 'off'],
    ...[
      'True',
      'TRUE',
      'False',
      'Null',
      'NULL',
      '~',
      '=',
      '<<',
      '+1',
      '+',
      '+e5',
      '+.5',
      '-0',
      '-0.0',
      '1.',
    ],
    ...[
      '017',
      '08',
      '0o7',
      '0x1F',
      '0b11',
      '1_000',
      '0_x4',
      '1e3',
      'e5',
      '-E5',
      '.e5',
      '.5',
      '-.5',
      '.inf',
      '.NaN',
      '-.inf',
    ],
    ...['1:30', '1:30.5', '190:20:30', '2024-01-31', '2024-01-31T10:20:30Z', '2024-1-2 3:4:5'],
    ...['9007199254740993', '12345678901234567890', '0.12345678901234567890'],
  ])('the scalar %s, as a value, a key and an item', (source) => {
    expect(parsePlainYaml(`a: ${source}`)).toBeUndefined();
    expect(parsePlainYaml(`${source}: a`)).toBeUndefined();
    expect(parsePlainYaml(`- ${source}`)).toBeUndefined();
    expect(parsePlainYaml(`a: [${source}]`)).toBeUndefined();
  });

  test.each([
    ['a carriage return', 'a: 1\r\n'],
    ['a tab', 'a:\n\tb: 1\n'],
    ['a tab in a literal', 'a: |\n  \tb\n'],
    ['a byte order mark', '\ufeffa: 1\n'],
    ['a control character', 'a: \u0007\n'],
    ['a next-line character', 'a: b\u0085c\n'],
    ['a line separator', 'a: b\u2028c\n'],
    ['a surrogate', 'a: \ud83d\ude00\n'],
    ['a directive', '%YAML 1.1\n---\na: 1\n'],
    ['a document end', 'a: 1\n...\n'],
    ['content behind ---', '--- a: 1\n'],
    ['a scalar document', 'a\n'],
    ['a quoted scalar document', '"a"\n'],
    ['a flow document', '{a: 1}\n'],
    ['an anchor', 'a: &x 1\n'],
    ['an alias', 'a: &x 1\nb: *x\n'],
    ['a tag', 'a: !!str 1\n'],
    ['an explicit key', '? a\n: 1\n'],
    ['a multi-line plain scalar', 'a: b\n  c\n'],
    ['a multi-line plain item', '- b\n  c\n'],
    ['a multi-line quoted scalar', 'a: "b\n  c"\n'],
    ['an unterminated quote', "a: 'b\n"],
    ['text behind a quote', 'a: "b" c\n'],
    ['an unusual escape', 'a: "\\x41"\n'],
    ['a scalar on a line of its own', 'a:\n  b\n'],
    ['a flow collection on a line of its own', 'a:\n  [b]\n'],
    ['a multi-line flow collection', 'a: [b,\n  c]\n'],
    ['a trailing comma', 'a: [b, ]\n'],
    ['a flow key without a space', 'a: {b:1}\n'],
    ['JSON inside', 'a: {"b":1}\n'],
    ['a duplicate key', 'a: 1\nb: 2\na: 3\n'],
    ['a duplicate of a null', 'a:\na:\n'],
    ['a duplicate that is quoted', 'a: 1\n"a": 2\n'],
    ['a duplicate in a flow map', 'a: {b: 1, b: 2}\n'],
    ['a prototype key', '__proto__: 1\n'],
    ['a quoted prototype key', '"__proto__": {a: 1}\n'],
    ['a prototype key in a flow map', 'a: {__proto__: 1}\n'],
    ['a numeric key', '1: a\n'],
    ['a merge key', '<<: {a: 1}\n'],
    ['an empty key', ': a\n'],
    ['a space before the colon', 'a : 1\n'],
    ['no space behind the colon', 'a:1\n'],
    ['no space behind the colon of a quoted key', '"a":1\n'],
    ['a map on the line of its key', 'a: b: c\n'],
    ['a list on the line of its key', 'a: - b\n'],
    ['a comment stuck to a value', 'a: "b"#c\n'],
    ['a key that is too deep', '  a: 1\n b: 2\n'],
    ['a key at a column between', 'a:\n    b: 1\n  c: 2\n'],
    ['an item among keys', 'a: 1\n- b\n'],
    ['a key among items', '- b\na: 1\n'],
    ['an indentation indicator', 'a: |2\n   b\n'],
    ['an empty literal', 'a: |\nb: 1\n'],
    ['a literal that begins with wider blanks', 'a: |\n    \n  b\n'],
    ['a literal line of spaces', 'a: |\n  b\n    \n  c\n'],
    ['a literal line at a column between', 'a:\n  b: |\n      c\n    d\n'],
    ['a comment at a column between', 'a:\n  b: |\n      c\n    # d\n'],
    ['a folded line that is indented more', 'a: >\n  b\n    c\n'],
    ['a key over the limit', `${'k'.repeat(1025)}: 1\n`],
    ['a key over the limit for its escapes', `"${'\\n'.repeat(513)}": 1\n`],
    ['too many levels', `${'- '.repeat(65)}a\n`],
    ['too many levels of flow', `a: ${'['.repeat(65)}${']'.repeat(65)}\n`],
    ['too many documents', '---\na: 1\n'.repeat(1001)],
    ['levels beyond the stack', '- '.repeat(100_000)],
  ])('%s', (_, text) => {
    expect(parsePlainYaml(text)).toBeUndefined();
  });

  test('hostile sizes are read or left in linear time', () => {
    const wide = Array.from({ length: 50_000 }, (_, i) => `key${i}: value${i}\n`).join('');
    expect(Object.keys(parsePlainYaml(wide)?.[0]?.value as object)).toHaveLength(50_000);
    expect(parsePlainYaml(`a: "${'\\'.repeat(200_000)}`)).toBeUndefined();
    expect(parsePlainYaml(`a: ${' #'.repeat(200_000)}\n`)).toHaveLength(1);
    expect(parsePlainYaml(`a: |\n${' \n'.repeat(200_000)}`)).toBeUndefined();
    expect(parsePlainYaml(`a: ${'1'.repeat(200_000)}x\n`)).toHaveLength(1);
  });
});

describe('no judge ever disagrees', () => {
  test('judge trees written in many styles', () => holdsFor(documents, 0.2), FUZZ_TIMEOUT);
  test('judge manifests with mistakes', () => holdsFor(mutants, 0.1), FUZZ_TIMEOUT);
  test('judge lines at any column', () => holdsFor(lineSoup, 0.05), FUZZ_TIMEOUT);
  test('judge quotes and brackets', () => holdsFor(inlineSoup, 0.05), FUZZ_TIMEOUT);
  test('judge numbers and words', () => holdsFor(scalarSoup, 0.05), FUZZ_TIMEOUT);
  test('judge arbitrary strings', () => holdsFor(strings, 0), FUZZ_TIMEOUT);
});
