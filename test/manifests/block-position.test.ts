/** Quick positions are those of the library, or none. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { blockPosition } from '../../src/manifests/block-position.ts';
import { parseManifests } from '../../src/manifests/parse.ts';
import { parsePlainYaml } from '../../src/manifests/plain/plain-yaml.ts';

const EXAMPLES = join(import.meta.dirname, '../../examples/platform');
const files = readdirSync(EXAMPLES, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.yaml'))
  .map((name) => [name, readFileSync(join(EXAMPLES, name), 'utf8')] as const);

const TEXTS: readonly (readonly [string, string])[] = [
  ['comments and blank lines', '# a\n\na: 1\n\n# b\nb:\n  # c\n\n  c: 2 # d\n'],
  ['a document mark and an end', '---\na:\n  b: x\n...\n'],
  ['quotes', 'a: "x: y"\nb: \'z\'\n'],
  ['block scalars that look like keys', 'a: |\n  c: 1\nb:\n  d: >\n    c: 2\n  c: 3\n'],
  ['lists of maps, flush left', 'a:\n- b: 1\n  c: 2\n- b: 3\nc: 4\n'],
  ['lists of maps, indented', 'a:\n  - b: 1\n    c: 2\nc: 4\n'],
  ['flow style', 'a: {b: 1, c: [2, 3]}\nc:\n  d: {e: f}\n  g: 1\n'],
  ['flow over lines', 'a: [b,\n  c: 1,\n  d]\nc: 2\n'],
  ['text over lines', 'a: b\n  c\n  d\nc: 2\n'],
  ['empty values', 'a:\nb:\nc:\n  d:\n  e: 1\n'],
  ['a key that begins as another', 'ab: 1\na: 2\n'],
  ['one key at two depths', 'a:\n  a:\n    a: 1\n  b: 2\nb: 3\n'],
  ['wide indents and values far off', 'a:\n      b:    1\n      c:\t2\nd:  x\n'],
  ['Windows line ends', 'a:\r\n  b: 1\r\nc: 2\r\n'],
];

describe('quick positions', () => {
  test.each([...files, ...TEXTS])(
    'quick positions of %s are those of the library',
    (_name, text) => {
      const plain = parsePlainYaml(text);
      const documents = parseManifests(text).documents;
      if (plain?.length !== 1 || documents.length !== 1) return;
      for (const path of pathsOf(documents[0]?.value)) {
        const quick = blockPosition(text, path);
        if (quick !== undefined)
          expect({ path, ...quick }).toEqual({ path, ...documents[0]?.locate(path) });
      }
    },
  );

  test('are there for what most secrets look like', () => {
    const text = 'kind: SharedSecret\nspec:\n  data:\n    a: eA==\n    b: "eQ=="\n';

    expect(blockPosition(text, ['spec', 'data', 'a'])).toEqual({ line: 4, col: 8 });
    expect(blockPosition(text, ['spec', 'data', 'b'])).toEqual({ line: 5, col: 8 });
    expect(blockPosition(text, ['spec', 'data'])).toBeUndefined();
    expect(blockPosition(text, ['spec', 'other', 'a'])).toBeUndefined();
  });
});

function pathsOf(value: unknown, path: readonly (string | number)[] = []): (string | number)[][] {
  if (typeof value !== 'object' || value === null) return [];
  const entries: [string | number, unknown][] = Array.isArray(value)
    ? value.map((item, at) => [at, item])
    : Object.entries(value);
  return entries.flatMap(([key, item]) => [[...path, key], ...pathsOf(item, [...path, key])]);
}
