import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Lexer, parse } from 'yaml';
import { jsonEqual } from '../../src/apimachinery/object.ts';
import { parseManifests } from '../../src/manifests/parse.ts';
import { formatManifest, mostLexemes } from '../../src/manifests/write.ts';
import { runs } from '../support/properties.ts';

/** Raise for a long run: `FUZZ_RUNS=20000 npx vitest run test/manifests`. */
const RUNS = runs(200);

test('keys have their order, text its form', () => {
  const manifest = formatManifest({
    status: {},
    spec: { users: [{ name: 'a', kind: 'User' }, [1, [2]]], none: [], note: 'one\ntwo\n' },
    metadata: {
      annotations: { 'a.b/c': 'true' },
      labels: { tier: 'x' },
      finalizers: ['f'],
      name: 'web',
      namespace: 'shop',
    },
    kind: 'Team',
    apiVersion: 'v1',
    data: null,
  });
  expect(manifest).toBe(`apiVersion: v1
kind: Team
metadata:
  name: web
  namespace: shop
  labels:
    tier: x
  annotations:
    a.b/c: "true"
  finalizers:
    - f
spec:
  users:
    - name: a
      kind: User
    - - 1
      - - 2
  none: []
  note: |
    one
    two
status: {}
data: null
`);
});

describe('strings', () => {
  test.each([
    ['plain text', 'plain text'],
    ['http://a.b/c?d=e#f', 'http://a.b/c?d=e#f'],
    ['été 日本 😀', 'été 日本 😀'],
    ['1.2.3', '1.2.3'],
    ['--flag=x', '--flag=x'],
    ['v1', 'v1'],
    ['12ab34', '12ab34'],
    ['yes', '"yes"'],
    ['Off', '"Off"'],
    ['n', '"n"'],
    ['~', '"~"'],
    ['', '""'],
    ['null', '"null"'],
    ['1e3', '"1e3"'],
    ['1234e567', '"1234e567"'],
    ['0x1', '"0x1"'],
    ['0o17', '"0o17"'],
    ['017', '"017"'],
    ['1_000', '"1_000"'],
    ['1:30', '"1:30"'],
    ['-_0', '"-_0"'],
    ['.5', '".5"'],
    ['.inf', '".inf"'],
    ['2001-01-01', '"2001-01-01"'],
    ['2001-01-01T00:00:00Z', '"2001-01-01T00:00:00Z"'],
    ['=', '"="'],
    ['<<', '"<<"'],
    [' leading', '" leading"'],
    ['trailing ', '"trailing "'],
    ['a: b', '"a: b"'],
    ['a #b', '"a #b"'],
    ['#x', '"#x"'],
    ['end:', '"end:"'],
    ['- x', '"- x"'],
    ['---', "'---'"],
    ['say "hi"', 'say "hi"'],
    ['"quoted"', `'"quoted"'`],
    ["it's: x", `"it's: x"`],
    ['tab\there', '"tab\\there"'],
    ['bell\u0007', '"bell\\u0007"'],
    ['nel\u0085', '"nel\\u0085"'],
    ['\u202egnp', '"\\u202Egnp"'],
    ['\ufeffx', '"\\uFEFFx"'],
    ['two\nlines', '|-\n  two\n  lines'],
    ['two\nlines\n', '|\n  two\n  lines'],
    ['lines\n\n', '"lines\\n\\n"'],
    [' first\nline\n', '" first\\nline\\n"'],
    ['carriage\r\nreturn', '"carriage\\r\\nreturn"'],
  ])('%j is written as %s', (value, text) => {
    expect(formatManifest({ k: value })).toBe(`k: ${text}\n`);
  });

  test('long lines are not folded', () => {
    const line = 'word '.repeat(100).trim();
    expect(formatManifest({ k: line })).toBe(`k: ${line}\n`);
  });
});

test.each([
  [0, '0'],
  [-0, '0'],
  [1.5, '1.5'],
  [1e-7, '1.0e-7'],
  [1e20, '1.0e+20'],
  [1.5e300, '1.5e+300'],
  [Number.MAX_SAFE_INTEGER, '9007199254740991'],
  [2 ** 53, '9.007199254740992e+15'],
])('the number %d is written as %s', (value, text) => {
  expect(formatManifest({ k: value })).toBe(`k: ${text}\n`);
});

test('a value that is not JSON is refused', () => {
  expect(() => formatManifest({ k: Number.POSITIVE_INFINITY })).toThrow(
    'a manifest holds JSON only, not Infinity',
  );
  expect(() => formatManifest({ k: () => 1 })).toThrow('not function');
});

const AWKWARD = fc
  .array(
    fc.constantFrom(
      ...[
        'yes',
        '1',
        'e',
        '3',
        '0x',
        '.',
        '_',
        ' ',
        '\n',
        '\t',
        '\r',
        '#',
        ':',
        '-',
        'a',
        '"',
        "'",
      ],
      ...['\\', '|', '>', 'é', '\u00a0', '\u0085', '\u2028', '😀', '&', '*', '!', '%', '@', '`'],
      ...['{', '}', '[', ']', ',', '?', '=', '<<', '~', '\u0000', '\ud800', '---', '...'],
    ),
    { maxLength: 7 },
  )
  .map((parts) => parts.join(''));

/** Half a surrogate pair is refused: no UTF-8 text can hold it. */
const text = fc
  .oneof(AWKWARD, fc.string({ unit: 'grapheme' }), fc.string())
  .filter((drawn) => drawn.isWellFormed());
const { tree: json } = fc.letrec((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    text,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.maxSafeInteger(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('tree'), { maxLength: 4 }),
    fc.dictionary(text, tie('tree'), { maxKeys: 4 }),
  ),
}));
const object = fc.dictionary(text, json, { maxKeys: 4, noNullPrototype: true });

test('every JSON object comes back as it was', () => {
  fc.assert(
    fc.property(object, (value) => {
      const [document] = parseManifests(formatManifest(value)).documents;
      expect(document?.problems).toEqual([]);
      expect(jsonEqual(document?.value, value)).toBe(true);
    }),
    { numRuns: RUNS },
  );
});

test.each(['1.1', '1.2'] as const)('a reader of YAML %s reads the same', (version) => {
  fc.assert(
    fc.property(object, (value) => {
      const read = parse(formatManifest(value), { version, logLevel: 'error' });
      expect(jsonEqual(read, value)).toBe(true);
    }),
    { numRuns: RUNS },
  );
});

test('the bound of lexemes is above their number, and below its double', () => {
  const lexemesOf = (object: object): number => [...new Lexer().lex(formatManifest(object))].length;
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (object) => {
      expect(mostLexemes(object as never)).toBeGreaterThanOrEqual(lexemesOf(object));
    }),
    { numRuns: RUNS },
  );
  for (const key of ['k'.repeat(2000), '"'.repeat(600), '\u0001'.repeat(167)]) {
    const values = Array.from({ length: 20 }, (_, i) => [`${key}${i}`, i]);
    const long = { [key]: { [key]: 'a\nb\n', ...Object.fromEntries(values) } };
    expect(mostLexemes(long)).toBeGreaterThanOrEqual(lexemesOf(long));
  }
  const access = Array.from({ length: 100 }, (_, i) => ({ users: [`u${i}`], verbs: ['get'] }));
  expect(mostLexemes({ access })).toBeLessThan(2 * lexemesOf({ access }));
});
