import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type BodyFormat, bodyFormatOf, decodeBody } from '../../../src/server/input/body.ts';
import { runs } from '../../support/properties.ts';

const decode = (format: BodyFormat, text: string) => decodeBody(Buffer.from(text), format);
const badRequest = (message: unknown) =>
  expect.objectContaining({ code: 400, reason: 'BadRequest', message });
const json = (place: string) => badRequest(`the body is not valid JSON: ${place}`);
const yaml = (place: string) =>
  badRequest(expect.stringContaining(`the body is not valid YAML: ${place}`));

describe('the Content-Type selects the parser of a body', () => {
  // covers: endpoints.yaml
  test.each([
    [undefined, 'json'],
    ['', 'json'],
    ['application/json', 'json'],
    ['Application/JSON; charset=utf-8', 'json'],
    ['application/yaml', 'yaml'],
    ['application/yaml ;x=y', 'yaml'],
  ])('%j is %s', (contentType, format) => {
    expect(bodyFormatOf(contentType)).toBe(format);
  });

  test.each(['text/yaml', 'application/vnd.kubernetes.protobuf', 'application/x-yaml', 'json'])(
    '%s is 415',
    (contentType) => {
      const message =
        'the body of the request was in an unknown format - accepted media types include: application/json, application/yaml';
      expect(() => bodyFormatOf(contentType)).toThrow(
        expect.objectContaining({ code: 415, reason: 'UnsupportedMediaType', message }),
      );
    },
  );
});

describe('keys that occur twice are reported and the last one counts', () => {
  test.each<[BodyFormat, string, unknown, string[]]>([
    ['json', '{"a":1,"b":2}', { a: 1, b: 2 }, []],
    ['json', '{"a":1,"a":2}', { a: 2 }, ['duplicate field "a"']],
    [
      'json',
      '{"spec":{"a":1,"b":0,"a":2}}',
      { spec: { a: 2, b: 0 } },
      ['duplicate field "spec.a"'],
    ],
    [
      'json',
      '{"l":[{},{"x":{"k":1,"k":2,"k":3}}],"l2":{"k":1}}',
      { l: [{}, { x: { k: 3 } }], l2: { k: 1 } },
      ['duplicate field "l[1].x.k"', 'duplicate field "l[1].x.k"'],
    ],
    ['json', '[{"op":1,"op":2}]', [{ op: 2 }], ['duplicate field "[0].op"']],
    ['json', '{"a\\u0062":1,"ab":2}', { ab: 2 }, ['duplicate field "ab"']],
    ['json', '{"a":"__proto__"}', { a: '__proto__' }, []],
    ['json', '{"a":1,"b":2}\n', { a: 1, b: 2 }, []],
    ['json', '{"1":0,"0":1,"1":0}', { 0: 1, 1: 0 }, ['duplicate field "1"']],
    ['json', '{"a\\"":1,"a\\"":2}', { 'a"': 2 }, ['duplicate field "a\\""']],
    ['yaml', 'a: 1\nb: 2\n', { a: 1, b: 2 }, []],
    ['yaml', 'a: 1\na: 2\n', { a: 2 }, ['line 2: key "a" already set in map']],
    [
      'yaml',
      '# c\nspec:\n  a: 1\n  b:\n  - {c: 1, c: 2}\n  "a": 3\n',
      { spec: { a: 3, b: [{ c: 2 }] } },
      ['line 6: key "a" already set in map', 'line 5: key "c" already set in map'],
    ],
    ['yaml', 'a: 1\r\na: 2\r\n', { a: 2 }, ['line 2: key "a" already set in map']],
  ])('%s %j', (format, text, value, duplicates) => {
    expect(decode(format, text)).toEqual({ value, duplicates });
  });
});

test.each<[string, BodyFormat, string]>([
  [
    'below a long key of JSON',
    'json',
    `{"${'k'.repeat(100_000)}":{${Array(8000).fill('"a":1').join(',')}}}`,
  ],
  [
    'behind a long text of YAML',
    'yaml',
    `{x: "${'x'.repeat(1_000_000)}", b: {${'a: 1,'.repeat(2000)}}}`,
  ],
  [
    'behind many lines of YAML',
    'yaml',
    `x: "${'\n '.repeat(500_000)}"\nb:\n${'  a: 1\n'.repeat(2000)}`,
  ],
])('keys that occur twice %s cost less than five seconds and 50 MB', (_title, format, text) => {
  const start = process.cpuUsage();
  const { duplicates } = decode(format, text);
  const { user, system } = process.cpuUsage(start);

  expect(duplicates.length).toBeGreaterThan(1000);
  expect((user + system) / 1e6).toBeLessThan(5);
  expect(duplicates.reduce((sum, one) => sum + one.length, 0)).toBeLessThan(50_000_000);
});

describe('YAML means what it means to kubectl', () => {
  test.each<[string, unknown]>([
    ['yes', true],
    ['on', true],
    ['y', true],
    ['Off', false],
    ['no', false],
    ['"yes"', 'yes'],
    ["'no'", 'no'],
    ['!!str yes', 'yes'],
    ['2001-12-14T21:59:43.10-05:00', '2001-12-14T21:59:43.10-05:00'],
    ['2001-12-14', '2001-12-14'],
    ['1:30', '1:30'],
    ['1e3', 1000],
    ['010', 8],
    ['0x1F', 31],
    ['1_000', 1000],
    ['.5', 0.5],
    ['~', null],
    ['', null],
    ['null', null],
    ['1.2.3', '1.2.3'],
    ['|\n    x\n    y', 'x\ny\n'],
  ])('%s', (scalar, value) => {
    expect(decode('yaml', `k: ${scalar}\n`)).toEqual({ value: { k: value }, duplicates: [] });
  });

  test.each<[string, unknown]>([
    ['{"a": [1, {"b": "c"}]}', { a: [1, { b: 'c' }] }],
    ['---\na: 1\n', { a: 1 }],
    ['# comment\n---\n# another\na: 1\n---\n# nothing\n', { a: 1 }],
    ['a: 1\n...\n', { a: 1 }],
    ['\ufeffa: 1\n', { a: 1 }],
    ['base: &b {p: 1, q: 2}\nc:\n  <<: *b\n  q: 3\n', { base: { p: 1, q: 2 }, c: { p: 1, q: 3 } }],
  ])('%j is one document', (text, value) => {
    expect(decode('yaml', text).value).toEqual(value);
  });

  test('an alias gives a value of its own', () => {
    const { value } = decode('yaml', 'a: &a {x: [1]}\nb: *a\n') as {
      value: { a: { x: number[] }; b: { x: number[] } };
    };
    value.a.x.push(2);
    expect(value.b.x).toEqual([1]);
  });
});

describe('a body that does not parse is refused with its place', () => {
  test.each<[BodyFormat, string, unknown]>([
    ['json', '{"a":1,}', json('1:8: expected a key in double quotes')],
    ['json', '{\n  "a": tru\n}', json('2:8: expected a value')],
    ['json', '{"a":1 "b":2}', json("1:8: expected ',' or '}' behind the value")],
    ['json', '[1 2]', json("1:4: expected ',' or ']' behind the value")],
    ['json', '{"a" 1}', json("1:6: expected ':' behind the key")],
    ['json', '{"a":"x', json('1:8: the string has no end')],
    ['json', '{"a":"\\x"}', json('1:7: unknown escape sequence')],
    ['json', '{"a":"\n"}', json('1:7: a string cannot hold a control character')],
    ['json', '{"a":01}', json("1:7: expected ',' or '}' behind the value")],
    ['json', '{"a":', json('1:6: the text ends too early')],
    ['json', '{}x', json('1:3: expected the end of the text')],
    ['json', 'apiVersion: v1', json('1:1: expected a value')],
    ['json', '{"__proto__":{"x":1}}', json('1:13: the key "__proto__" is not allowed')],
    ['json', '{"a":{"\\u005f_proto__":1}}', json('1:23: the key "__proto__" is not allowed')],
    ['json', '['.repeat(101), json('1:101: nested more than 100 levels deep')],
    ['json', '['.repeat(101) + ']'.repeat(101), json('1:101: nested more than 100 levels deep')],
    ['json', '  ', badRequest('the request has no body')],
    ['yaml', '', badRequest('the request has no body')],
    ['yaml', '# only a comment\n', badRequest('the body holds no YAML document')],
    ['yaml', 'a: 1\n---\nb: 2\n', yaml('2:1: a request takes exactly one YAML document')],
    ['yaml', '---\n'.repeat(50), yaml('21:1: a request takes exactly one YAML document')],
    ['yaml', 'a: [1\nb: 2\n', yaml('2:')],
    ['yaml', 'a:\n  b: 1\n c: 2\n', yaml('3:')],
    ['yaml', 'a: !!binary aGk=\n', yaml('1:13: the tag !!binary')],
    ['yaml', 'a: .inf\n', yaml('1:4: ')],
    ['yaml', 'a: *b\n', yaml('1:4: the anchor of this alias is not set before it')],
    ['yaml', '? [a]\n: 1\n', yaml('1:3: a map key must be a string')],
    ['yaml', 'x: {a: 1, __proto__: {y: 1}}\n', yaml('1:11: the key "__proto__" is not allowed')],
    ['yaml', `a: ${'['.repeat(200)}`, yaml('1:104: nested too deeply')],
  ])('%s %j', (format, text, error) => {
    expect(() => decode(format, text)).toThrow(error);
  });

  test('bytes that are no UTF-8', () => {
    expect(() => decodeBody(Buffer.from([0x22, 0xff, 0x22]), 'json')).toThrow(
      badRequest('the body is not valid UTF-8'),
    );
  });

  test('the message never repeats the text', () => {
    for (const text of ['{"key":"s3cr3t\n"}', '{"key":s3cr3t}', '["s3cr3t" s3cr3t]', 's3cr3t']) {
      expect(() => decode('json', text)).toThrow(badRequest(expect.not.stringContaining('s3cr3t')));
    }
    for (const text of ['key: "s3cr3t\\q"', 'a: {s3cr3t', 'key: |x s3cr3t\n', 'a: b: s3cr3t']) {
      expect(() => decode('yaml', text)).toThrow(badRequest(expect.not.stringContaining('s3cr3t')));
    }
  });
});

describe('a body cannot cost more than its size', () => {
  test('large JSON is measured before it is parsed, and brackets in strings do not count', () => {
    expect(() => decode('json', '['.repeat(1_000_000))).toThrow(/1:101: nested more than 100/);
    const text = '[{"\\'.repeat(9_000);
    expect(decode('json', JSON.stringify({ text }))).toMatchObject({ value: { text } });
  });

  test('too many bytes are 413', () => {
    expect(() => decodeBody(Buffer.alloc(11), 'json', 10)).toThrow(
      expect.objectContaining({ code: 413, message: 'Request entity too large: limit is 10' }),
    );
  });

  test('an alias bomb does not expand', () => {
    const level = (name: string, of: string) =>
      `${name}: &${name} [${Array(9).fill(of).join(', ')}]`;
    const names = [...'abcdefghij'];
    const bomb = names.map((name, i) => level(name, i === 0 ? 'x' : `*${names[i - 1]}`)).join('\n');
    expect(() => decode('yaml', bomb)).toThrow(yaml('5:'));
  });

  test.each([
    ['commas', `[${','.repeat(100_000)}]`],
    ['documents', '---\n'.repeat(100_000)],
    ['tags', `${'!!str '.repeat(100_000)}a`],
    ['directives', '%a\n'.repeat(100_000)],
    ['aliases', `a: &a 1\nb: [${'*a, '.repeat(100_000)}]`],
  ])('YAML of very many %s is refused before it is parsed', (_, text) => {
    expect(() => decode('yaml', text)).toThrow(badRequest(expect.stringContaining('as JSON')));
  });

  test('a long plain text is read all the same', () => {
    const lines = Array.from({ length: 60_000 }, (_, i) => `k${i}: v`).join('\n');
    expect(Object.keys(decode('yaml', lines).value as object)).toHaveLength(60_000);
  });
});

describe('the scanner beside JSON.parse', () => {
  const agrees = (text: string) => {
    let expected: unknown;
    try {
      expected = JSON.parse(text);
    } catch {
      expect(() => decode('json', text)).toThrow(expect.objectContaining({ code: 400 }));
      return;
    }
    // An integer that a double cannot hold exactly is the one thing that is not taken.
    if (LONG_INTEGER.test(text) && hasUnsafeInteger(expected)) {
      expect(() => decode('json', text)).toThrow(/this integer is too large to be kept exactly/);
      return;
    }
    expect(decode('json', text).value).toEqual(expected);
  };
  const LONG_INTEGER = /(?<![\d.eE+])\d{16,}(?![\d.eE])/;
  const hasUnsafeInteger = (value: unknown): boolean =>
    typeof value === 'number'
      ? Number.isInteger(value) && !Number.isSafeInteger(value)
      : typeof value === 'object' && value !== null && Object.values(value).some(hasUnsafeInteger);

  test('accepts exactly what JSON.parse accepts', () => {
    const noise = fc.string({
      unit: fc.constantFrom(...'{}[]",:\\u0019.eE+-tfn \n\t/x'),
      maxLength: 12,
    });
    fc.assert(
      fc.property(noise, (text) => agrees(text.trim() === '' ? '0' : text)),
      {
        numRuns: runs(3000),
      },
    );
  });

  test('accepts every JSON value, damaged at one place or not', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), fc.nat(), fc.string(), (text, at, noise) => {
        fc.pre(!text.includes('__proto__'));
        agrees(text);
        const place = at % (text.length + 1);
        const damaged = text.slice(0, place) + noise + text.slice(place + 1);
        if (damaged.trim() !== '' && !damaged.includes('__proto__')) agrees(damaged);
      }),
    );
  });
});
