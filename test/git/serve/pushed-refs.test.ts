/** Refs and commits of a push, by number and by name. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Reader } from '../../../src/git/reading/reader.ts';
import type { RefMove } from '../../../src/git/serve/hook-protocol.ts';
import { refObjections } from '../../../src/git/serve/pushed-refs.ts';
import { bareRepository, foreignCommit, git } from '../../support/git.ts';

const SERVED = 'refs/heads/main';
const ID = 'a'.repeat(40);

function made(...refs: readonly string[]): RefMove[] {
  return refs.map((ref) => ({ ref, oldId: undefined, newId: ID }));
}

function numbered(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `refs/heads/b${i}`);
}

test('a push of more than 1,000 refs is refused', async () => {
  const gitDir = await bareRepository();
  const of = { gitDir, ref: SERVED };
  expect(await refObjections(of, made(...numbered(1_000)))).toEqual([]);
  expect(await refObjections(of, made(...numbered(1_001)))).toEqual([
    'This push has 1001 refs; push at most 1000 at a time',
  ]);
});

test('a push beyond 10,000 refs in all is refused, and one that moves or removes refs is not', async () => {
  const gitDir = await bareRepository();
  const first = git(gitDir, ['commit-tree', '-m', 'm', git(gitDir, ['mktree'])]);
  const lines = numbered(9_999).map((ref) => `${first} ${ref}\n`);
  writeFileSync(join(gitDir, 'packed-refs'), lines.join(''));
  const of = { gitDir, ref: SERVED };
  expect(await refObjections(of, made('refs/tags/one'))).toEqual([]);
  expect(await refObjections(of, made('refs/tags/one', 'refs/tags/two'))).toEqual([
    'The repository would have 10001 branches and tags, more than 10000; push fewer',
  ]);
  const moves = ['refs/heads/b1', 'refs/heads/b2'].map((ref) => ({ ref, oldId: first, newId: ID }));
  expect(await refObjections(of, moves)).toEqual([]);
  expect(
    await refObjections(of, [{ ref: 'refs/heads/b1', oldId: first, newId: undefined }]),
  ).toEqual([]);
});

test.each(['refs/heads/MAIN', 'refs/heads/Main', 'refs/Heads/main'])(
  'the ref %s is not taken for another branch than the served one',
  async (ref) => {
    const gitDir = await bareRepository();
    expect(await refObjections({ gitDir, ref: SERVED }, made(ref))).toEqual([
      `${JSON.stringify(ref)} differs from "${SERVED}" by case alone`,
    ]);
  },
);

test.each<[string, string | undefined]>([
  ['moves', ID],
  ['removes', undefined],
])('a push that %s a symbolic ref is refused', async (_what, newId) => {
  const gitDir = await bareRepository();
  git(gitDir, ['symbolic-ref', 'refs/heads/alias', SERVED]);
  const move = { ref: 'refs/heads/alias', oldId: 'b'.repeat(40), newId };
  expect(await refObjections({ gitDir, ref: SERVED }, [move])).toEqual([
    `"refs/heads/alias" is a symbolic ref; push to "${SERVED}"`,
  ]);
});

test('a removal of a ref outside of the repository reads nothing there', async () => {
  const gitDir = await bareRepository();
  writeFileSync(join(gitDir, '../outside'), 'ref: refs/heads/secret\n');
  const move = { ref: 'refs/../../outside', oldId: ID, newId: undefined };
  expect(await refObjections({ gitDir, ref: SERVED }, [move])).toEqual([]);
});

test('a push of more commits than the limit is refused', async () => {
  const gitDir = await bareRepository();
  let tip = git(gitDir, ['commit-tree', '-m', 'first', git(gitDir, ['mktree'])]);
  git(gitDir, ['update-ref', SERVED, tip]);
  for (let i = 0; i < 4; i += 1)
    tip = foreignCommit(gitDir, { files: { a: `${i}` }, parents: [tip] });
  git(gitDir, ['update-ref', '-d', 'refs/heads/pushed']);
  const objections = async (maxCommits: number): Promise<readonly unknown[]> => {
    const reader = new Reader({ gitDir }, { maxCommits });
    onTestFinished(() => reader.close());
    return await reader.objectionsTo({ tips: [tip], known: 'all refs' });
  };
  expect(await objections(4)).toEqual([]);
  expect(await objections(3)).toEqual([
    {
      path: undefined,
      problem: 'This push has more than 3 commits; push the older ones first, to a branch',
    },
  ]);
});

test('git itself stops a push over 2 GiB', async () => {
  const gitDir = await bareRepository();
  expect(git(gitDir, ['config', '--local', 'receive.maxInputSize'])).toBe(String(2 ** 31));
});
