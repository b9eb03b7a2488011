import { describe, expect, test } from 'vitest';
import type { FileEntry } from '../../src/catalog/file.ts';
import { fileReader } from '../../src/catalog/file-reader.ts';
import { readPaths } from '../../src/catalog/reading.ts';
import { buildKindTable } from '../../src/kinds/table.ts';

const reader = fileReader(buildKindTable('management.gitplane.dev'), '');

describe('reading many files', () => {
  test('lets others have the processor in between', async () => {
    const content = Buffer.from(
      'apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata: !!map {}\n',
    );
    const paths = Array.from({ length: 400 }, (_, i) => ({
      path: `${i}.yaml`,
      id: String(i),
      mode: '100644',
    }));
    const source = {
      readBlobs: async (ids: readonly string[]) => ids.map(() => content),
      listFiles: async () => [],
    };
    let others = 0;
    const timer = setInterval(() => others++, 1);

    await readPaths(source, reader, paths);

    clearInterval(timer);
    expect(others).toBeGreaterThan(0);
  });
});

describe('files with the same bytes', () => {
  const TEAM = 'apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata: {name: a}\n';
  const read = async (text: string, paths: readonly string[]) => {
    let parsed = 0;
    const counting: typeof reader = {
      ...reader,
      read: (path, blob, content) => {
        parsed += 1;
        return reader.read(path, blob, content);
      },
    };
    const content = Buffer.from(text);
    const source = {
      readBlobs: async (ids: readonly string[]) => ids.map(() => content),
      listFiles: async () => [],
    };
    const seen = paths.map((path) => ({ path, id: 'x', mode: '100644' }));
    const files = await readPaths(source, counting, seen);
    for (const path of paths) {
      expect(factsOf(files.get(path))).toEqual(factsOf(reader.read(path, 'x', content)));
    }
    return parsed;
  };
  const factsOf = (file: FileEntry | undefined) => [
    file?.path,
    file?.blob,
    file?.documents.map(({ index, key, manifest, problems, warnings, line, blob }) => {
      return { index, key, manifest, problems, warnings, line, blob };
    }),
  ];
  const PATHS = ['b.yaml', 'a.yaml', 'c/a.yaml'];
  const PLACES = ['namespaces/one/a.yaml', 'namespaces/two/a.yaml', 'namespaces/two/b.yaml'];

  test.each([
    ['nothing', '', PATHS, 1],
    ['comments', '# nothing\n', PATHS, 1],
    ['no YAML', 'a: [\n', PATHS, 1],
    ['a manifest with a mistake', `${TEAM}spec: {a: 1}\n`, PATHS, 1],
    ['an object', TEAM, PATHS, 3],
    ['a mistake in two namespaces', 'kind: SharedSecret\n', PLACES, 2],
  ])('%s: parsed once if they may be copies', async (_title, text, paths, parsed) => {
    expect(await read(text, paths)).toBe(parsed);
  });
});
