/** Reads of the files of a push. */
import { expect, test } from 'vitest';
import { fileReader } from '../../../src/catalog/file-reader.ts';
import { buildKindTable } from '../../../src/kinds/table.ts';
import { PushedFiles } from '../../../src/registry/pushes/merge/pushed-files.ts';
import { foreignCommit, git, openForTest } from '../../support/git.ts';
import { team } from '../../support/platform.ts';

test('each version of a file is read once, however many commits have it', async () => {
  const repository = await openForTest();
  const texts = ['One', 'Two'].map((displayName) => team('a', { displayName }));
  const parents: string[] = [];
  for (let i = 0; i < 6; i += 1) {
    const files = { 'a.yaml': texts[i % 2] ?? '', [`b-${i}.yaml`]: texts[0] ?? '' };
    const id = foreignCommit(repository.gitDir, { parents: parents.slice(-1), files });
    parents.push(id);
  }
  const ids = parents
    .slice(0, 2)
    .map((commit) => git(repository.gitDir, ['rev-parse', `${commit}:a.yaml`]));
  const read: string[] = [];
  const reader = fileReader(buildKindTable('management.gitplane.dev'), '');
  const counting = {
    ...reader,
    read: (path: string, blob: string, content: Buffer) => {
      read.push(`${path} ${blob}`);
      return reader.read(path, blob, content);
    },
  };
  const paths = [...parents.keys()].flatMap((i) => [
    { path: 'a.yaml', id: ids[i % 2], mode: '100644' },
    { path: `b-${i}.yaml`, id: ids[0], mode: '100644' },
  ]);

  const files = new PushedFiles(counting);
  await files.read(repository, paths);
  const found = await files.read(repository, [{ path: 'a.yaml', id: ids[1], mode: '100644' }]);

  expect(read.filter((name) => name.startsWith('a.yaml'))).toHaveLength(2);
  expect(read).toHaveLength(8);
  expect(found.get('a.yaml')?.blob).toBe(ids[1]);
});
