import { afterAll, describe, expect, test } from 'vitest';
import { type FileReader, fileReader, type LargeFile } from '../../src/catalog/file-reader.ts';
import { LargeFiles } from '../../src/catalog/reader-pool/large-files.ts';
import { ReaderPool } from '../../src/catalog/reader-pool/reader-pool.ts';
import { readPaths } from '../../src/catalog/reading.ts';
import { kinds } from '../support/platform.ts';

const rules = { apiGroup: 'management.gitplane.dev', under: '' };
const own = fileReader(kinds, '');
const pool = new ReaderPool(rules);
afterAll(() => pool.close());

function team(name: string, comment: string): string {
  return `apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata:\n  name: ${name}\n# ${comment}\n`;
}

function fileOf(path: string, text: string): LargeFile {
  return { path, id: `id of ${path}`, mode: '100644', content: Buffer.from(text) };
}

const large = fileOf('large.yaml', team('large', 'x'.repeat(100_000)));
const broken = fileOf('broken.yaml', `{${','.repeat(200_000)}`);

describe('a large file', () => {
  test('is read by another thread, and comes to the same', async () => {
    const small = fileOf('small.yaml', team('small', 'x'));
    const files = [large, small, broken];
    const here: string[] = [];
    const reader: FileReader = {
      ...own,
      pool,
      read: (path, blob, content) => {
        here.push(path);
        return own.read(path, blob, content);
      },
    };
    const source = {
      readBlobs: async (ids: readonly string[]) =>
        files.filter(({ id }) => ids.includes(id)).map(({ content }) => content),
      listFiles: async () => [],
    };

    const found = await readPaths(source, reader, files);

    expect(here).toEqual(['small.yaml']);
    for (const { path, id, content } of files) {
      const expected = own.read(path, id, content);
      const entry = found.get(path);
      const told = entry?.documents.map(({ key, manifest, problems, line }) => [
        key,
        manifest,
        problems,
        line,
      ]);
      expect({ ...entry, documents: told }).toEqual({
        ...expected,
        documents: expected.documents.map(({ key, manifest, problems, line }) => [
          key,
          manifest,
          problems,
          line,
        ]),
      });
    }
  });

  test('a large file that takes too long is refused, and harms no other', async () => {
    const setup = { ...rules, gitMemoryMib: 512 };
    const hasty = new LargeFiles(() => setup, { memoryMib: 512, deadlineMs: 1 });
    const [first, second] = await hasty.read([large, broken]);
    hasty.close();
    expect(first?.documents[0]?.problems[0]?.message).toMatch(/too much memory or time/);
    expect(second?.documents[0]?.problems[0]).toMatchObject({ path: 'broken.yaml', line: 1 });
    const [entry] = await pool.readLarge([large]);
    expect(entry?.documents[0]?.key?.name).toBe('large');
  });

  test('an edit that a stop ends does not name the document as its reason', async () => {
    const files = new LargeFiles(() => ({ ...rules, gitMemoryMib: 512 }));
    const edit = files.documentValue(String(large.content), 0);
    files.close();
    await expect(edit).rejects.toThrow('The reader of large files is closed');
  });
});
