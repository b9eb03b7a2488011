/** Widths of the folders of a commit, as `git ls-tree` and `git cat-file` have them. */
import { expect, test } from 'vitest';
import { commitOf, git, openForTest, publish } from '../../support/git.ts';

function files(folder: string, count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`${folder}/f${i}`, '']));
}

test('the widest folders are named, wherever they are, and followed from commit to commit', async () => {
  const repository = await openForTest();
  const { gitDir } = repository;
  const width = (path: string): { path: string; entries: number; bytes: number } => {
    const entries = git(gitDir, ['ls-tree', '--name-only', `main:${path}`]).split('\n').length;
    return { path, entries, bytes: Number(git(gitDir, ['cat-file', '-s', `main:${path}`])) };
  };
  const expectWide = async (...paths: string[]): Promise<void> => {
    const found = await repository.folderWidths((await repository.head()) ?? '');
    const wide = paths.map(width);
    expect(found.wide).toEqual(wide);
    expect(found).toMatchObject({ entries: wide[0]?.entries, bytes: wide[0]?.bytes });
  };
  await publish(repository, commitOf({ ...files('a/é', 1200), ...files('b', 999), c: '' }));
  await expectWide('a/é');

  await publish(repository, commitOf(files('b/more', 1500)));
  await expectWide('b/more', 'a/é', 'b');

  await publish(repository, commitOf({ 'a/é/f1': 'changed', 'b/more/f0': null, 'b/f0': null }));
  await expectWide('b/more', 'a/é');
});

test('narrow folders are counted and not named', async () => {
  const repository = await openForTest();
  const [id = ''] = await publish(repository, commitOf(files('a', 12)));
  const bytes = Number(git(repository.gitDir, ['cat-file', '-s', `${id}:a`]));
  expect(await repository.folderWidths(id)).toEqual({ entries: 12, bytes, wide: [] });
});
