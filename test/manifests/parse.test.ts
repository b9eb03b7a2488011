import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { jsonEqual } from '../../src/apimachinery/object.ts';
import { decodeUtf8, parseDocument, parseManifests } from '../../src/manifests/parse.ts';
import { splitStream } from '../../src/manifests/stream.ts';
import { processorMs } from '../support/calls.ts';
import { runs } from '../support/properties.ts';
import { Random, randomDocument } from './random-yaml.ts';

/** Raise for a long run: `FUZZ_RUNS=20000 npx vitest run test/manifests`. */
const RUNS = runs(200);

function only(text: string) {
  const { documents } = parseManifests(text);
  expect(documents).toHaveLength(1);
  return documents[0] as (typeof documents)[number];
}

function problemsOf(text: string): string[] {
  return parseManifests(text).documents.flatMap(({ problems }) =>
    problems.map(({ line, col, message }) => `${line}:${col}: ${message}`),
  );
}

describe('unquoted scalars mean what they mean to kubectl', () => {
  test.each([
    ['yes', true],
    ['On', true],
    ['y', true],
    ['no', false],
    ['OFF', false],
    ['yEs', 'yEs'],
    ['~', null],
    ['', null],
    ['Null', null],
    ['nULL', 'nULL'],
    ['5', 5],
    ['-0', 0],
    ['+12', 12],
    ['1_000', 1000],
    ['0644', 420],
    ['0o17', 15],
    ['089', 89],
    ['0x1F', 31],
    ['-0x1f', -31],
    ['0b101', 5],
    ['1e3', 1000],
    ['.5', 0.5],
    ['5.', 5],
    ['1e400', '1e400'],
    ['1:30', '1:30'],
    ['2001-01-01', '2001-01-01'],
    ['2001-01-01T00:00:00Z', '2001-01-01T00:00:00Z'],
    ['1.2.3', '1.2.3'],
    ['_1', '_1'],
    ['.', '.'],
    ['=', '='],
    ['9007199254740991', 9007199254740991],
    ['"yes"', 'yes'],
    ["'1'", '1'],
    ['!!str 1', '1'],
    ['! 1', '1'],
    ['!!int 1', 1],
    ['!!float 1', 1],
    ['!!bool yes', true],
    ['!!null ""', null],
  ])('%s', (source, value) => {
    expect(only(`k: ${source}\n`)).toMatchObject({ value: { k: value }, problems: [] });
  });
});

describe('documents', () => {
  test('documents without content are left out, and still count', () => {
    const text = '# head\n---\na: 1\n---\n# nothing\n---\n---\nb: 2\n...\n# tail\n';
    expect(parseManifests(text).documents.map(({ index, value }) => [index, value])).toEqual([
      [0, { a: 1 }],
      [3, { b: 2 }],
    ]);
  });

  test.each(['', '\n', '# c\n', '---\n', '\uFEFF', '%YAML 1.2\n---\n', '...\n'])(
    '%j has none',
    (text) => {
      expect(parseManifests(text).documents).toEqual([]);
    },
  );

  test('null that is written is a document', () => {
    expect(only('--- null\n').value).toBeNull();
  });

  test('a document that does not parse hides no other', () => {
    const text = 'a: [1, 2\n---\nb: "x\n---\nc: 3\n---\n{{ d }}\n---\ne: 5\n';
    const { documents } = parseManifests(text);
    expect(documents.map(({ value }) => value)).toEqual([
      undefined,
      undefined,
      { c: 3 },
      undefined,
      { e: 5 },
    ]);
    expect(documents.map(({ problems }) => problems.length > 0)).toEqual([
      true,
      true,
      false,
      true,
      false,
    ]);
  });

  test('CRLF and a byte order mark do not show', () => {
    expect(only('\uFEFFa: 1\r\nb: |\r\n  x\r\n  y\r\nc: "d\r\n  e"\r\n').value).toEqual({
      a: 1,
      b: 'x\ny\n',
      c: 'd e',
    });
  });

  test('a directive of YAML 1.1 changes nothing', () => {
    expect(only('%YAML 1.1\n---\na: yes\nb: 1:30\n').value).toEqual({ a: true, b: '1:30' });
  });

  test('a key named __proto__ is a key', () => {
    const { value } = only('__proto__: {x: 1}\n');
    expect(Object.keys(value as object)).toEqual(['__proto__']);
    expect(({} as { x?: number }).x).toBeUndefined();
  });
});

describe('anchors, aliases and merge keys', () => {
  test.each([
    ['an alias is a copy', 'a: &x {p: [1]}\nb: *x\n', { a: { p: [1] }, b: { p: [1] } }],
    [
      'the last anchor of a name counts',
      'a: &x 1\nb: *x\nc: &x 2\nd: *x\n',
      { a: 1, b: 1, c: 2, d: 2 },
    ],
    [
      'own keys win wherever they stand',
      'a: &x {p: 1, q: 2}\nb:\n  p: 3\n  <<: *x\n',
      { a: { p: 1, q: 2 }, b: { p: 3, q: 2 } },
    ],
    [
      'the first source wins',
      'l: [&x {p: 1}, &z {p: 2, q: 2}]\nb:\n  <<: [*x, *z]\n',
      { l: [{ p: 1 }, { p: 2, q: 2 }], b: { p: 1, q: 2 } },
    ],
    ['a quoted << is a key', 'a: {"<<": 1}\n', { a: { '<<': 1 } }],
    ['an alias may be a key', '&k a: 1\nb:\n  *k : 2\n', { a: 1, b: { a: 2 } }],
  ])('%s', (_title, text, value) => {
    expect(only(text)).toMatchObject({ value, problems: [] });
  });

  test('copies are not shared', () => {
    const { value } = only('a: &x {p: 1}\nb: *x\n');
    const { a, b } = value as { a: object; b: object };
    expect(a).not.toBe(b);
  });
});

describe('problems have a place and one line', () => {
  test.each([
    ['a: 1\n\tb: 2\n', '2:1: Tabs are not allowed as indentation'],
    ['a:\n  b: 1\n c: 2\n', '3:1: All mapping items must start at the same column'],
    ['a: b: c\n', '1:4: Nested mappings are not allowed in compact mappings'],
    ['a: 1\nb: 2\na: 3\n', '3:1: key "a" is already set in this map'],
    ['a: {x: 1, "x": 2}\n', '1:11: key "x" is already set in this map'],
    ['1: a\n', '1:1: the map key 1 is not a string here; quote it'],
    ['on: a\n', '1:1: the map key true is not a string here; quote it'],
    ['? {a: 1}\n: b\n', '1:3: a map key must be a string'],
    [': b\n', '1:1: a map key is missing'],
    ['a: .nan\n', '1:4: infinity and NaN are not JSON numbers; quote the value if text is meant'],
    ['a: -.inf\n', '1:4: infinity and NaN are not JSON numbers; quote the value if text is meant'],
    [
      'a: 9007199254740993\n',
      '1:4: this integer is too large to be kept exactly; quote it to keep it as text',
    ],
    [
      'a: 0xFFFFFFFFFFFFFFFF\n',
      '1:4: this integer is too large to be kept exactly; quote it to keep it as text',
    ],
    [
      'a: !x 1\n',
      '1:7: the tag stands for nothing that JSON can hold; remove it, or quote the value if text is meant',
    ],
    [
      'a: !!binary aGk=\n',
      '1:13: the tag !!binary stands for nothing that JSON can hold; remove it',
    ],
    ['a: !!set {x}\n', '1:10: the tag !!set stands for nothing that JSON can hold; remove it'],
    ['a: !!map [x]\n', '1:10: the tag !!map stands for nothing that JSON can hold; remove it'],
    ['a: !!int x\n', '1:10: this value does not fit its tag !!int'],
    [
      'a: *x\n',
      '1:4: the anchor of this alias is not set before it; quote the value if text is meant',
    ],
    ['a: &x [*x]\n', '1:8: this alias stands inside its own anchor'],
    ['a:\n  <<: 1\n', '2:7: a merge key (<<) takes a map, an alias of a map, or a list of those'],
    ['a: "\\q"\n', '1:5: Invalid escape sequence in double quotes'],
    ['é: "\n', '2:1: Missing closing "quote'],
    [
      '"é😀": .inf\n',
      '1:7: infinity and NaN are not JSON numbers; quote the value if text is meant',
    ],
    [
      'a: 1\n---\nb: 1\n---\nc: !x\n',
      '5:6: the tag stands for nothing that JSON can hold; remove it, or quote the value if text is meant',
    ],
    [
      'a: x\u0000y\n',
      '1:5: the control character U+0000 is not allowed; write it as an escape in double quotes',
    ],
    ['a: 1\rb: 2\n', '1:5: a carriage return without a line feed; end lines with LF or CRLF'],
    ['a: 1\n---\n\uFEFFb: 1\n', '3:1: a byte order mark inside the file; remove it'],
  ])('%j', (text, problem) => {
    expect(problemsOf(text)).toContain(problem);
    expect(parseManifests(text).documents.at(-1)?.value).toBeUndefined();
  });

  test('every problem of a document is listed, up to ten', () => {
    expect(problemsOf('a: .nan\nb: !x 1\nc: *c\n')).toHaveLength(3);
    expect(problemsOf('- .nan\n'.repeat(50))).toHaveLength(10);
  });

  test.each([
    'password: "hunter2\nb: 1\n',
    'password: |hunter2\n',
    'password: hunter2: 1\n',
    'password: @hunter2\n',
    'password: !!int hunter2\n',
    'password: "\\hunter2"\n',
    'password: "x" hunter2\n',
    '- password\nhunter2: 1\n',
    'password: [hunter2\n',
    'a: 1\n]hunter2\n',
    'password: hunter2\n\tx: 1\n  hunter2\n',
    'password: *hunter2\n',
    'password: &hunter2 [*hunter2]\n',
    'password: !hunter2\n',
    'password: !!hunter2 x\n',
    'password: !<hunter2> x\n',
    'password: !a!hunter2 x\n',
    'password: !hunter2! x\n',
    'password: {!hunter2 : x}\n',
    'password: !!str*hunter2\n',
  ])('%j shows no value', (text) => {
    expect(problemsOf(text).length).toBeGreaterThan(0);
    expect(problemsOf(text).join()).not.toContain('unter2');
  });
});

describe('hostile text is refused, and quickly', () => {
  const bomb = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]'];
  for (let i = 1; i < 10; i++)
    bomb.push(
      `a${i}: &a${i} [${Array(10)
        .fill(`*a${i - 1}`)
        .join(', ')}]`,
    );
  test.each([
    ['an alias bomb', bomb.join('\n'), 'aliases add more than 20000 values to this document'],
    ['deep flow', '['.repeat(100_000), 'nested too deeply'],
    ['deep flow that closes', `${'{a: '.repeat(200)}1${'}'.repeat(200)}`, 'nested too deeply'],
    ['deep lists', `${'- '.repeat(50_000)}a\nb: c\n`, 'nested too deeply'],
    [
      'deep maps',
      Array.from({ length: 390 }, (_, i) => `${' '.repeat(i)}a:`).join('\n'),
      'nested too deeply',
    ],
    ['deep explicit keys', '? '.repeat(50_000), 'nested too deeply'],
    [
      'aliases that nest',
      `${Array.from({ length: 120 }, (_, i) => `a${i}: &a${i} [${i > 0 ? `*a${i - 1}` : ''}]`).join('\n')}\n`,
      'nested too deeply',
    ],
    [
      'commas in a flow map',
      `{${','.repeat(2_000_000)}`,
      'more than 250000 words, marks and comments in one document; split it',
    ],
    [
      'a million aliases',
      `a: &a 1\nb:\n${'- *a\n'.repeat(1_000_000)}`,
      'more than 250000 words, marks and comments in one document; split it',
    ],
    ['many documents', '--- 1\n'.repeat(5_001), 'more than 5000 documents in one file; split it'],
  ])('%s', (_title, text, message) => {
    const ms = processorMs(() => {
      expect(problemsOf(text).map((problem) => problem.replace(/^\d+:\d+: /, ''))).toContain(
        message,
      );
    });
    expect(ms).toBeLessThan(5_000);
  });

  test('places of many documents take time in proportion', () => {
    const ms = (count: number): number => {
      const { documents } = parseManifests('---\na: *b\n'.repeat(count));
      return processorMs(() => {
        for (const { locate } of documents) expect(locate([]).col).toBe(1);
      });
    };
    expect(ms(5_000)).toBeLessThan(2_000);
  });

  test('100 levels and long lines are not deep', () => {
    expect(problemsOf(`${'['.repeat(100)}${']'.repeat(100)}\n`)).toEqual([]);
    expect(problemsOf(`[${'{a: 1, b: [x]}, '.repeat(2_000)}]\n`)).toEqual([]);
    expect(problemsOf(`a: |\n${' '.repeat(500)}far right\n`)).toEqual([]);
  });

  test('a map of many keys takes time in proportion', () => {
    const text = Array.from({ length: 20_000 }, (_, i) => `key${i}: v\n`).join('');
    const ms = processorMs(() => {
      expect(Object.keys(only(text).value as object)).toHaveLength(20_000);
    });
    expect(ms).toBeLessThan(10_000);
  });
});

describe('places', () => {
  const text = `# c
metadata: # m
  name:   web
  labels: {"a.b/c": x, é😀: 'y'}
spec:
  users:
    - kind: User
      name: bob
    -
      - deep
  empty:
base: &b
  x: 1
other:
  <<: *b
  own: *b
`;
  test.each([
    [['metadata', 'name'], false, '3:11'],
    [['metadata', 'name'], true, '3:3'],
    [['metadata'], false, '3:3'],
    [['metadata', 'labels', 'a.b/c'], false, '4:21'],
    [['metadata', 'labels', 'é😀'], false, '4:28'],
    [['spec', 'users', 0, 'name'], false, '8:13'],
    [['spec', 'users', 0], true, '7:7'],
    [['spec', 'users', 1, 0], false, '10:9'],
    [['spec', 'empty'], true, '11:3'],
    [['other', 'x'], false, '13:6'],
    [['other', 'own'], false, '16:8'],
    [['other', 'own', 'x'], false, '13:6'],
    [['spec', 'missing', 'deeper'], false, '5:1'],
    [['spec', 'users', 7], false, '6:3'],
    [['spec', 'users', 'name'], false, '6:3'],
    [['nowhere'], false, '2:1'],
    [[], false, '2:1'],
  ])('%j (key: %s) is at %s', (path, atKey, place) => {
    const { line, col } = only(text).locate(path, { atKey });
    expect(`${line}:${col}`).toBe(place);
  });

  test('are those of the file, behind other documents and a byte order mark', () => {
    const [, second] = parseManifests('\uFEFFa: 1\n---\nb:\n  c: 1\n').documents;
    expect(second?.locate(['b', 'c'])).toEqual({ line: 4, col: 6 });
    expect(only('\uFEFFa: 1\n').locate(['a'])).toEqual({ line: 1, col: 4 });
  });

  test('places of a document that does not parse fall back to its beginning', () => {
    expect(only('# c\n---\na: [\n').locate(['a', 'b'])).toEqual({ line: 3, col: 1 });
  });
});

describe('bytes', () => {
  test.each([
    [[0x61, 0xc3, 0xa9, 0x0a], { text: 'aé\n' }],
    [[0xef, 0xbb, 0xbf, 0x61], { text: '\uFEFFa' }],
    [[], { text: '' }],
    [
      [0x61, 0x0a, 0xc3, 0xa9, 0x62, 0xff, 0x62],
      { problem: { line: 2, col: 3, message: 'invalid UTF-8 at byte 5; save the file as UTF-8' } },
    ],
    [
      [0x61, 0x0a, 0x62, 0xe2, 0x82],
      { problem: { line: 2, col: 2, message: 'invalid UTF-8 at byte 3; save the file as UTF-8' } },
    ],
    [
      [0x61, 0xed, 0xa0, 0x80],
      { problem: { line: 1, col: 2, message: 'invalid UTF-8 at byte 1; save the file as UTF-8' } },
    ],
    [
      [0xff, 0xfe, 0x61, 0x00],
      { problem: { line: 1, col: 1, message: 'the file is UTF-16; save it as UTF-8' } },
    ],
  ])('%j', (bytes, decoded) => {
    expect(decodeUtf8(Uint8Array.from(bytes))).toEqual(decoded);
  });
});

const PIECES = [
  ...[
    ' ',
    '  ',
    '\n',
    '\n\n',
    '\r\n',
    '\t',
    '#',
    ' # c\n',
    ':',
    ': ',
    '-',
    '- ',
    '? ',
    '{',
    '}',
    '[',
  ],
  ...[
    ']',
    ',',
    '&a ',
    '*a',
    '!!str ',
    '!t ',
    '"',
    "'",
    '|',
    '>-',
    '|+\n',
    '---\n',
    '...\n',
    '%Y\n',
  ],
  ...[
    '<<: ',
    '\uFEFF',
    'a: 1\n',
    '~',
    '@',
    '`',
    '\\',
    'é',
    '😀',
    '\ud800',
    '\u0000',
    '\u2028',
    'yes',
  ],
];

/** A random document with random damage. */
const mangled = fc
  .tuple(fc.integer({ min: 0, max: 2 ** 31 - 1 }), fc.integer({ min: 0, max: 6 }))
  .map(([seed, damages]) => {
    const random = new Random(seed);
    let { text } = randomDocument({ seed, size: 12, aliases: true });
    for (let i = 0; i < damages; i++) {
      const at = random.below(text.length + 1);
      text = text.slice(0, at) + random.pick(PIECES) + text.slice(at + random.below(3));
    }
    return text;
  });
const anyText = fc.oneof(
  mangled,
  fc.array(fc.constantFrom(...PIECES), { maxLength: 40 }).map((parts) => parts.join('')),
  fc.string({ unit: 'binary' }),
);

test('the bytes of one document are the same alone and among others', () => {
  fc.assert(
    fc.property(anyText, fc.nat({ max: 5 }), (text, index) => {
      const among = parseManifests(text).documents.find((document) => document.index === index);
      const alone = parseDocument(text, index);
      expect(alone && { ...alone, locate: alone.locate(['a', 0]) }).toEqual(
        among && { ...among, locate: among.locate(['a', 0]) },
      );
    }),
    { numRuns: RUNS * 3 },
  );
});

test('no text makes it throw, and every place is in the text', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const lines = text.split('\n');
      for (const { problems, value, locate } of parseManifests(text).documents) {
        expect(value === undefined).toBe(problems.length > 0);
        for (const { line, col, message } of [...problems, { ...locate(['a', 0]), message: '' }]) {
          expect(message).not.toMatch(/[\r\n]/);
          expect(line).toBeGreaterThan(0);
          expect(line).toBeLessThanOrEqual(lines.length);
          expect(col).toBeGreaterThan(0);
          expect(col).toBeLessThanOrEqual((lines[line - 1]?.length ?? 0) + 1);
        }
      }
    }),
    { numRuns: RUNS * 3 },
  );
});

test('streams are cut where the library cuts them', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      // To the library each `...` without a document is an empty one; to the standard it is none.
      if (/^\uFEFF?\.\.\./m.test(text) || text.lastIndexOf('\uFEFF') > 0) return;
      const documents = parseAllDocuments(text, { uniqueKeys: false, logLevel: 'silent' });
      const slices = splitStream(text);
      if (documents.some(({ errors }) => errors.length > 0) || slices.length === 0) return;
      if (/[|>][-+0-9]*[ \t]+---/.test(text)) return;
      expect(slices).toHaveLength(documents.length);
    }),
    { numRuns: RUNS * 3 },
  );
});

test('a string, list or map of the library is read alike', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 31 - 1 }), (seed) => {
      const { text, value } = randomDocument({ seed, size: 15, aliases: true });
      const [document] = parseAllDocuments(text, { merge: true, logLevel: 'silent' });
      expect(jsonEqual(document?.toJS({ maxAliasCount: -1 }), value)).toBe(true);
      expect(jsonEqual(only(text).value, value)).toBe(true);
    }),
    { numRuns: RUNS },
  );
});
