import { expect, test } from 'vitest';
import { Catalog } from '../../src/catalog/catalog.ts';
import { type DocumentEntry, FileCopy, type FileEntry } from '../../src/catalog/file.ts';
import { fileReader } from '../../src/catalog/file-reader.ts';
import { buildKindTable } from '../../src/kinds/table.ts';

const reader = fileReader(buildKindTable('management.gitplane.dev'), '');
const COUNT = 300;

const read = (path: string, document: (i: number) => string): FileEntry => {
  const text = Array.from({ length: COUNT }, (_, i) => `---\n${document(i)}\n`).join('');
  return reader.read(path, path, Buffer.from(text));
};
const team = (i: number): string =>
  `{apiVersion: management.gitplane.dev/v1, kind: Team, metadata: {name: t${i}}}`;
const broken = (i: number): string => `${team(i).slice(0, -1)}, spec: {a: 1}}`;

/** A file, and a function with the number of times that the problems of a document were looked at. */
function counted(file: FileEntry): { file: FileEntry; looks: () => number } {
  let looks = 0;
  const documents = file.documents.map((document): DocumentEntry => {
    const { index, key, line, blob, problems, warnings } = document;
    const facts = { index, key, manifest: undefined, line, blob, warnings };
    return {
      ...facts,
      get problems() {
        looks += 1;
        return problems;
      },
    };
  });
  return { file: { path: file.path, blob: file.blob, documents }, looks: () => looks };
}

const commit = (id: string) => ({ id, committerTime: 0 });

test('a look at a document of a copy makes no other document', () => {
  const { file, looks } = counted(read('b.yaml', broken));
  const copies = Array.from({ length: 10 }, (_, i) => new FileCopy(`c${i}.yaml`, file));
  const catalog = new Catalog('root');
  const files = new Map([['a.yaml', read('a.yaml', team)]]);
  catalog.advance({ commit: commit('1'), files });

  catalog.advance({ commit: commit('2'), files: new Map(copies.map((one) => [one.path, one])) });
  const paths = copies.map(({ path }) => path);
  const problems = catalog.problemsOf(paths);
  expect(catalog.problems()).toEqual(problems);
  catalog.advance({ commit: commit('3'), files: new Map([['a.yaml', undefined]]) });

  expect(problems).toHaveLength(COUNT * (10 * 2 + 1));
  expect(catalog.keyAt('c3.yaml', 6)?.name).toBe('t2');
  expect(catalog.size).toBe(COUNT);
  expect(looks()).toBeLessThan(COUNT * copies.length * 10);
});

test('objects that a copy without names keeps share its problems', () => {
  const copy = new FileCopy(
    'a.yaml',
    read('b.yaml', () => 'a: 1'),
  );
  const catalog = new Catalog('root');
  catalog.advance({ commit: commit('1'), files: new Map([['a.yaml', read('a.yaml', team)]]) });
  catalog.advance({ commit: commit('2'), files: new Map([['a.yaml', copy]]) });

  expect(new Set([...catalog.objects()].map(({ problems }) => problems)).size).toBe(1);
  const [first] = catalog.objects();
  expect([first?.problems.length, first?.problems[0]?.path]).toEqual([COUNT * 2, 'a.yaml']);
});
