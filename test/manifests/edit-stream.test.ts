/** Edits in streams of several documents, and documents that come and go. */
import { describe, expect, test } from 'vitest';
import {
  appendDocument,
  editDocument,
  formatLike,
  isEmptyStream,
  removeDocument,
} from '../../src/manifests/edit.ts';
import { parseManifests } from '../../src/manifests/parse.ts';

const STREAM = `# file
--- # first
a: 1 # one
# end of a
---
b: 2

# about c
---
%x
c: 3
`.replace('%x\n', '');

describe('editing one document of a stream', () => {
  test.each([
    [0, { a: 9 }, STREAM.replace('a: 1', 'a: 9')],
    [1, { b: 2, d: 4 }, STREAM.replace('b: 2\n', 'b: 2\nd: 4\n')],
    [2, { c: 'x' }, STREAM.replace('c: 3', 'c: x')],
  ])('document %i changes, the others do not', (index, desired, after) => {
    expect(editDocument(STREAM, index, desired)).toBe(after);
  });

  test('a broken neighbour does not matter', () => {
    const text = 'a: [1\n---\nb: 2 # c\n---\nc: "\n';
    expect(editDocument(text, 1, { b: 3 })).toBe('a: [1\n---\nb: 3 # c\n---\nc: "\n');
  });

  test('a value that looks like a marker stays inside its document', () => {
    const text = editDocument('a: 1\n---\nb: 2\n', 0, { a: '---\nx\n' });
    expect(text).toBe('a: |\n  ---\n  x\n---\nb: 2\n');
    expect(parseManifests(text).documents.map(({ value }) => value)).toEqual([
      { a: '---\nx\n' },
      { b: 2 },
    ]);
  });

  test('the last key of a document that is not the last may go', () => {
    expect(editDocument('a: 1\n---\nb: 2\n', 0, {})).toBe('{}\n---\nb: 2\n');
  });
});

/** A comment beside every line, odd indentation, quotes and block scalars. */
const ODD = `# about a
kind:   T   # the kind
spec:
      text: |2-
          deep
         less
      # above the list
      list:
      -   "x" # one
      - 'y'
note: >+
  folded
  text

`;
const ODD_VALUE = {
  kind: 'T',
  spec: { text: '  deep\n less', list: ['x', 'y'] },
  note: 'folded text\n\n',
};

describe('a document that comes back', () => {
  const gone = (parts: readonly string[], index: number) => {
    const text = parts.join('');
    const value = parseManifests(text).documents[index]?.value as typeof ODD_VALUE;
    return { rest: removeDocument(text, index), former: { text, index }, value };
  };

  test('a document that returns to a file of its own is the whole file, byte for byte', () => {
    const text = `# licence\n\n${ODD}`;
    expect(formatLike({ text, index: 0 }, ODD_VALUE)).toBe(text);
    const framed = '\uFEFF%YAML 1.2\n--- # first\na: 1\r\n...\n# end';
    expect(formatLike({ text: framed, index: 0 }, { a: 1 })).toBe(framed);
  });

  test('a document that returns to a file of its own leaves its former neighbours out', () => {
    const { former, value } = gone(['a: 1\n', `---\n${ODD}`, '---\nb: 2\n'], 1);
    expect(value).toEqual(ODD_VALUE);
    expect(formatLike(former, value)).toBe(`---\n${ODD}`);
  });

  test.each([
    ['from the end', ['# file\n\na: 1\n', `---\n${ODD}`], 1],
    ['from between', ['a: 1\n', `--- # mine\n${ODD}`, '---\nb: 2\n'], 1],
    ['from behind an end marker', ['a: 1\n...\n', `--- # mine\n${ODD}`], 1],
  ])('%s is appended in its own bytes', (_where, parts, index) => {
    const { rest, former, value } = gone(parts, index);
    expect(rest).toBe(parts.toSpliced(index, 1).join(''));
    expect(appendDocument(rest, value, former)).toBe(rest + parts[index]);
  });

  test('a document that returns from the head of a file takes its own comments, and leaves those of the file', () => {
    const { rest, former, value } = gone([`# file\n\n${ODD}`, '---\nb: 2\n'], 0);
    expect(rest).toBe('# file\n\n---\nb: 2\n');
    expect(appendDocument(rest, value, former)).toBe(`${rest}---\n${ODD}`);
  });

  test('a document that returns leaves comments that a blank line separates', () => {
    const parts = ['a: 1\n', '---\nb: 2\n# of b\n\n# about c\n', '---\nc: 3\n'];
    const { rest, former, value } = gone(parts, 1);
    expect(appendDocument(rest, value, former)).toBe(`${rest}---\nb: 2\n# of b\n`);
  });

  test('a document that returns behind an open marker has one marker', () => {
    const { former, value } = gone(['a: 1\n', '--- # mine\nb: 2\n'], 1);
    expect(appendDocument('a: 1\n---\n', value, former)).toBe('a: 1\n--- # mine\nb: 2\n');
  });

  test('a document that returns with other values changes only those', () => {
    const text = `a: 1\n---\n${ODD}`;
    const { note: _gone, ...value } = { ...ODD_VALUE, kind: 'U' };
    expect(appendDocument('a: 1\n', value, { text, index: 1 })).toBe(
      `a: 1\n---\n${ODD.replace('kind:   T', 'kind:   U').replace(/note[\s\S]*/, '')}`,
    );
  });

  test.each([
    ['does not parse', 'kind: [\n', 0],
    [
      'is under a directive that other documents do not have',
      'a: 1\n...\n%TAG ! !x\n---\nb: 2\n',
      1,
    ],
  ])('is written again where its former text %s', (_what, text, index) => {
    expect(appendDocument('a: 1\n', { b: 2 }, { text, index })).toBe('a: 1\n---\nb: 2\n');
  });
});

describe('appending a document', () => {
  const object = { kind: 'T', apiVersion: 'v1' };
  const manifest = 'apiVersion: v1\nkind: T\n';
  test.each([
    ['to nothing', '', manifest],
    ['to blank lines', '\n\n', manifest],
    ['to a byte order mark', '\uFEFF', `\uFEFF${manifest}`],
    ['to a document', 'a: 1\n', `a: 1\n---\n${manifest}`],
    ['to a document without a line end', 'a: 1', `a: 1\n---\n${manifest}`],
    ['to a document with CRLF', 'a: 1\r\n', 'a: 1\r\n---\r\napiVersion: v1\r\nkind: T\r\n'],
    ['to a document that ends with ...', 'a: 1\n...\n', `a: 1\n...\n---\n${manifest}`],
    [
      'to a block scalar that keeps blank lines',
      'a: |+\n  x\n\n',
      `a: |+\n  x\n\n---\n${manifest}`,
    ],
    ['to a marker that waits for a document', 'a: 1\n---\n', `a: 1\n---\n${manifest}`],
    ['to comments', '# c\n', `# c\n---\n${manifest}`],
    ['to a document that does not parse', 'a: [\n', `a: [\n---\n${manifest}`],
  ])('%s', (_title, before, after) => {
    expect(appendDocument(before, object)).toBe(after);
    expect(parseManifests(after).documents.at(-1)?.value).toEqual(object);
  });
});

describe('removing a document', () => {
  test.each([
    ['the only one, with its comments', '# about a\na: 1\n# end\n', 0, ''],
    [
      'the only one, below a comment set apart',
      '# licence\n\n# about a\na: 1\n',
      0,
      '# licence\n\n',
    ],
    ['the first, whose comments go with it', '# about a\na: 1\n---\nb: 2\n', 0, '---\nb: 2\n'],
    [
      'the first, below a comment on the file',
      '# f\n---\n# x\na: 1\n---\nb: 2\n',
      0,
      '# f\n---\nb: 2\n',
    ],
    [
      'one in the middle, between comments of its neighbours',
      'a: 1\n# end of a\n---\n# b\nb: 2\n# end of b\n\n# about c\n---\nc: 3\n',
      1,
      'a: 1\n# end of a\n\n# about c\n---\nc: 3\n',
    ],
    ['the last', 'a: 1\n---\nb: 2\n', 1, 'a: 1\n'],
    ['the last, without a line end', 'a: 1\n---\nb: 2', 1, 'a: 1\n'],
    ['the first of a stream without a last line end', 'a: 1\n---\nb: 2', 0, '---\nb: 2'],
    [
      'comments inside its maps go',
      'a:\n  b: 1\n\n  # c: 2\n\n# keep\n---\nb: 1\n',
      0,
      '# keep\n---\nb: 1\n',
    ],
    [
      'lines of a block scalar are no comments',
      'a: 1\n---\nb: |\n  x\n  # text\n\n# c\n',
      1,
      'a: 1\n\n# c\n',
    ],
    ['CRLF', 'a: 1\r\n---\r\nb: 2\r\n', 0, '---\r\nb: 2\r\n'],
    ['a byte order mark stays', '\uFEFFa: 1\n---\nb: 2\n', 0, '\uFEFF---\nb: 2\n'],
    ['its ... goes', 'a: 1\n...\nb: 2\n', 0, 'b: 2\n'],
    [
      'its ... stays where the next has no marker',
      'a: 1\n---\nb: 2\n...\nc: 3\n',
      1,
      'a: 1\n...\nc: 3\n',
    ],
    [
      'its ... stays where the next has directives',
      'a: 1\n---\nb: 2\n...\n%YAML 1.2\n---\nc: 3\n',
      1,
      'a: 1\n...\n%YAML 1.2\n---\nc: 3\n',
    ],
    ['its directives go', '%YAML 1.2\n# f\n---\na: 1\n---\nb: 2\n', 0, '# f\n---\nb: 2\n'],
    ['comments behind its ... stay', 'a: 1\n...\n# tail\n', 0, '# tail\n'],
    ['one that does not parse', 'a: 1\n---\nb: [\n# c\n---\nc: 3\n', 1, 'a: 1\n---\nc: 3\n'],
    ['one that is empty', 'a: 1\n---\n---\nc: 3\n', 1, 'a: 1\n---\nc: 3\n'],
  ])('%s', (_title, before, index, after) => {
    expect(removeDocument(before, index)).toBe(after);
  });

  test('removing a document that does not exist is refused', () => {
    expect(() => removeDocument('a: 1\n', 3)).toThrow('there is no document 4');
  });
});

test.each([
  ['', true],
  ['# c\n\n', true],
  ['\uFEFF---\n# c\n---\n...\n', true],
  ['%YAML 1.2\n---\n', true],
  ['a: 1\n', false],
  ['# c\n--- {}\n', false],
  ['[\n', false],
])('%j is empty: %s', (text, empty) => {
  expect(isEmptyStream(text)).toBe(empty);
});
