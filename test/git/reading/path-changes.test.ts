/** Differences at some paths, held against the whole difference. */
import { expect, test } from 'vitest';
import { commitOf, git, openForTest, publish } from '../../support/git.ts';

const FILES = {
  'a.yaml': '1',
  'teams/a.yaml': '1',
  'teams/b.yaml': '1',
  'deep/er/c.yaml': '1',
  'deep/er.yaml': '1',
  folder: 'a file',
  'ümläut/€.yaml': '1',
};

test.each<[name: string, Readonly<Record<string, string | null>>]>([
  ['nothing', {}],
  ['a change, an addition and a removal', { 'teams/a.yaml': '2', new: '1', 'a.yaml': null }],
  ['a file that becomes a folder', { folder: null, 'folder/file': '1' }],
  ['a folder that becomes a file', { 'deep/er/c.yaml': null, 'deep/er': 'a file' }],
  ['other letters', { 'ümläut/€.yaml': '2' }],
  ['all of it', Object.fromEntries(Object.keys(FILES).map((path) => [path, null]))],
])('the changes at each path are those of the whole difference: %s', async (_, changes) => {
  const repository = await openForTest();
  const [from = ''] = await publish(repository, commitOf(FILES));
  const [to = from] = await publish(repository, commitOf({ ...changes, other: '1' }));
  const all = await repository.diff(from, to);
  const paths = [...new Set([...Object.keys(FILES), ...Object.keys(changes), 'teams', 'no/where'])];
  const wanted = all.filter(({ path }) => paths.includes(path));
  const found = await repository.diffAt(from, to, paths);
  const sorted = (list: typeof found) => list.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  expect(sorted(found)).toEqual(sorted(wanted));
  expect(await repository.diffAt(from, from, paths)).toEqual([]);
  expect(await repository.diffAt(from, to, ['no/where'])).toEqual([]);
});

test('the mode of a file counts, and a missing commit is an error', async () => {
  const repository = await openForTest();
  const { gitDir } = repository;
  const [from = ''] = await publish(repository, commitOf({ a: '1' }));
  const blob = git(gitDir, ['rev-parse', `${from}:a`]);
  const tree = git(gitDir, ['mktree'], { input: `100755 blob ${blob}\ta\n` });
  const to = git(gitDir, ['commit-tree', '-m', 'x', '-p', from, tree]);
  expect(await repository.diffAt(from, to, ['a'])).toEqual(await repository.diff(from, to));
  const missing = 'f'.repeat(40);
  await expect(repository.diffAt(from, missing, ['a'])).rejects.toThrow(/f{40}/);
  await expect(repository.diffAt(missing, from, ['a'])).rejects.toThrow(/f{40}/);
});
