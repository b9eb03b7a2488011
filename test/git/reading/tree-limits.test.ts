/** The limits of what is walked: counted from few objects, and kept by every way to read. */
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { nameFlaw } from '../../../src/git/objects/portable-name.ts';
import { DEFAULT_MEMORY_MIB, limitGitMemory } from '../../../src/git/process/process-limits.ts';
import { Reader } from '../../../src/git/reading/reader.ts';
import type { HistoryCommit } from '../../../src/git/repository.ts';
import {
  blob,
  commitWithEntry,
  deepBomb,
  type Entry,
  tree,
  wideBomb,
} from '../../support/bombs.ts';
import { bareRepository, git } from '../../support/git.ts';

let gitDir: string;
let reader: Reader;
let root: string;

beforeEach(async () => {
  gitDir = await bareRepository();
  reader = readerOf(1000);
  root = commit(tree(gitDir, [file('a')]));
  git(gitDir, ['update-ref', 'refs/heads/main', root]);
});

function readerOf(maxPaths: number): Reader {
  const made = new Reader({ gitDir }, { maxPaths });
  onTestFinished(() => made.close());
  return made;
}

function file(name: string, text = 'x'): Entry {
  return { mode: '100644', name, id: blob(gitDir, text) };
}

function folder(name: string, id: string): Entry {
  return { mode: '040000', name, id };
}

function commit(id: string, ...parents: string[]): string {
  return git(gitDir, ['commit-tree', ...parents.flatMap((p) => ['-p', p]), '-m', 'm', id]);
}

async function problemOf(id: string, of = reader): Promise<string | undefined> {
  return (await of.checkLimits(id)).problem;
}

async function collect(from: string | undefined, to: string): Promise<HistoryCommit[]> {
  const commits: HistoryCommit[] = [];
  for await (const one of reader.history(from, to)) commits.push(one);
  return commits;
}

function changes(commits: readonly HistoryCommit[]): [string, string[][]][] {
  return commits.map(({ id, changes: lists }) => [
    id,
    lists.map((list) => list.map(({ path, mode }) => (mode === '000000' ? `-${path}` : path))),
  ]);
}

describe('the count of a tree', () => {
  test.each([
    [10, 2],
    [1, 1],
    [7, 3],
  ])('has files and folders, for a push: %i equal folders, %i deep', async (width, depth) => {
    // Folders of each level, the one in the root first, and a file in each of the last.
    const id = commit(tree(gitDir, [folder('b', wideBomb(gitDir, width, depth))]));
    const counted = [];
    for (let at = 0, n = 1; at <= depth; at += 1, n *= width) counted.push(n);
    const paths = counted.reduce((sum, n) => sum + n, 0) + (counted.at(-1) ?? 0);
    const pushedWith = async (limit: number): Promise<string | undefined> =>
      (await readerOf(limit).checkLimits(id, 'push')).problem;
    expect(await pushedWith(paths)).toBeUndefined();
    expect(await pushedWith(paths - 1)).toMatch(/has more than \d+ paths/);
    // API writes after a push that reaches the limit are still read.
    expect(await problemOf(id, readerOf(Math.ceil(paths / 1.25)))).toBeUndefined();
    expect(await problemOf(id, readerOf(Math.ceil(paths / 1.25) - 2))).toMatch(/more than/);
  });

  test('names the folder that passes the limit by itself', async () => {
    const bomb = wideBomb(gitDir, 10, 4);
    const id = commit(
      tree(gitDir, [file('a'), folder('ok', tree(gitDir, [folder('bomb', bomb)]))]),
    );
    expect(await problemOf(id)).toMatch(/^"ok\/bomb\/d0000" has more than 1250 paths/);
  });

  test('the count of a tree of more paths than a number can hold takes no time', async () => {
    const id = commit(tree(gitDir, [folder('b', wideBomb(gitDir, 1000, 60))]));
    expect(await problemOf(id)).toMatch(/has more than 1250 paths/);
  });

  test('64 folders below each other are taken, 65 are not', async () => {
    expect(await problemOf(commit(deepBomb(gitDir, 64)))).toBeUndefined();
    expect(await problemOf(commit(deepBomb(gitDir, 65)))).toMatch(/more than 64 folders deep/);
  });

  test('a path of more than 4096 bytes is refused however short its names are', async () => {
    const name = 'n'.repeat(250);
    let id = tree(gitDir, [file(name)]);
    for (let i = 0; i < 16; i += 1) id = tree(gitDir, [folder(name, id)]);
    expect(await problemOf(commit(id))).toMatch(/has a path of more than 4096 bytes/);
  });
});

describe('a commit beyond the limits', () => {
  let bomb: string;
  beforeEach(() => {
    bomb = commitWithEntry(gitDir, folder('bomb', wideBomb(gitDir, 10, 6)), root);
  });

  test('is neither listed nor compared', async () => {
    await expect(reader.listFiles(bomb)).rejects.toThrow(/cannot be read: "bomb.*" has more than/);
    await expect(reader.diff(root, bomb)).rejects.toThrow(/cannot be read/);
    await expect(reader.diff(undefined, bomb)).rejects.toThrow(/cannot be read/);
  });

  test('has no changes in history; its child is compared with its stand-in', async () => {
    const after = commit(tree(gitDir, [file('a'), file('b')]), bomb);
    const none: string[][] = [[]];
    const expected = [
      [root, [['a']]],
      [bomb, none],
      [after, [['b']]],
    ];
    expect(changes(await collect(undefined, after))).toEqual(expected);
    expect(changes(await collect(root, after))).toEqual(expected.slice(1));
    expect(changes(await collect(bomb, after))).toEqual(expected.slice(2));
    expect(changes(await collect(root, bomb))).toEqual([[bomb, none]]);
    expect((await reader.diff(bomb, after)).map(({ path }) => path)).toEqual(['b']);
    expect(await reader.checkLimits(bomb)).toMatchObject({ standIn: root });
  });

  test('a commit beyond the limits counts as an empty tree for its child', async () => {
    const first = commit(tree(gitDir, [folder('bomb', wideBomb(gitDir, 10, 6))]));
    const after = commit(tree(gitDir, [file('b')]), first);
    expect(changes(await collect(undefined, after))).toEqual([
      [first, []],
      [after, [['b']]],
    ]);
    expect(await reader.checkLimits(first)).toMatchObject({ standIn: undefined });
  });

  test('a commit beyond the limits is replaced as the parent of a merge as well', async () => {
    const merge = commit(tree(gitDir, [file('a'), file('c')]), root, bomb);
    expect(changes(await collect(root, merge)).at(-1)).toEqual([merge, [['c'], ['c']]]);
  });
});

describe('objections to a push', () => {
  async function objections(tip: string, of = reader): Promise<string[]> {
    const found = await of.objectionsTo({ tips: [tip], known: 'all refs' });
    return found.map(({ path, problem }) => (path === undefined ? problem : `${path}: ${problem}`));
  }

  test('concern added paths, not existing ones', async () => {
    const old = commitWithEntry(gitDir, folder('docs', tree(gitDir, [file('aux')])), root);
    git(gitDir, ['update-ref', 'refs/heads/main', old]);
    expect(await objections(commitWithEntry(gitDir, file('new'), old))).toEqual([]);
    const copied = folder('copy', git(gitDir, ['rev-parse', `${old}:docs`]));
    expect(await objections(commitWithEntry(gitDir, copied, old))).toEqual([
      'copy/aux: The path cannot be used: it is the name of a Windows device; rename the file',
    ]);
  });

  test('find a name that only a commit in the middle has', async () => {
    const middle = commitWithEntry(gitDir, file('con'), root);
    const tip = commit(git(gitDir, ['rev-parse', `${root}^{tree}`]), middle);
    expect(await objections(tip)).toEqual([expect.stringMatching(/^con: /)]);
  });

  test('count the changes of all commits together', async () => {
    const one = tree(
      gitDir,
      Array.from({ length: 300 }, (_, i) => file(`f${1000 + i}`)),
    );
    const other = tree(
      gitDir,
      Array.from({ length: 300 }, (_, i) => file(`g${1000 + i}`)),
    );
    const second = commit(other, commit(one, root));
    expect(await objections(second)).toEqual([]);
    const fourth = commit(other, commit(one, second));
    expect(await objections(fourth)).toEqual([
      expect.stringMatching(/more than 1000 times in the commits of this push/),
    ]);
  });

  test('take the way back from a bomb that exists', async () => {
    const bomb = commitWithEntry(gitDir, folder('bomb', wideBomb(gitDir, 10, 6)), root);
    git(gitDir, ['update-ref', 'refs/heads/main', bomb]);
    expect(await objections(commit(tree(gitDir, [file('b')]), bomb))).toEqual([]);
  });

  test('end at the limit of tags in tags', async () => {
    let id = root;
    for (let i = 0; i < 10; i += 1) {
      id = git(gitDir, ['mktag'], {
        input: `object ${id}\ntype ${i === 0 ? 'commit' : 'tag'}\ntag t${i}\ntagger A <a@b> 1 +0000\n\nm\n`,
      });
    }
    expect(await objections(id)).toEqual([expect.stringMatching(/a tag of more than 8 tags/)]);
  });
});

test.each([
  ['CON', false],
  ['con.yaml', false],
  ['com1.txt', false],
  ['lpt9', false],
  ['nul .txt', false],
  ['aux:x', false],
  ['console', true],
  ['com10', true],
  ['auxiliary.yaml', true],
  ['system:admin.yaml', true],
  ['a\\b', false],
  ['a\tb', false],
  ['a\x7f', false],
  ['end.', false],
  ['end ', false],
  [' start', true],
  ['.hidden', true],
  ['.GIT', false],
  ['.git.', false],
  ['git~1', false],
  ['.git::$INDEX_ALLOCATION', false],
  ['.gitignore', true],
  // Bytes of U+00AD and U+200B, which folders of ext4 that ignore case leave out.
  ['.g\xc2\xadit', false],
  ['.gi\xe2\x80\x8bt', false],
  ['x'.repeat(255), true],
  ['x'.repeat(256), false],
])('the name %j can be checked out everywhere: %s', (name, is) => {
  expect(nameFlaw(name) === undefined).toBe(is);
});

describe('paths that are long together', () => {
  /** Some objects that stand for `width` times `width` paths of 4,000 bytes each. */
  function longPaths(width: number): string {
    const names = (letter: string): string[] =>
      Array.from(
        { length: width },
        (_, at) => `${String(at).padStart(3, '0')}${letter.repeat(247)}`,
      );
    const leaf = tree(
      gitDir,
      names('f').map((name) => file(name)),
    );
    let id = tree(
      gitDir,
      names('d').map((name) => folder(name, leaf)),
    );
    for (let depth = 0; depth < 13; depth += 1) id = tree(gitDir, [folder('e'.repeat(250), id)]);
    return id;
  }

  test('are refused in one commit of a push, and in its commits together', async () => {
    const own = readerOf(1_000_000);
    const id = longPaths(190);
    const one = commit(tree(gitDir, [folder('a', id)]), root);
    const both = commit(tree(gitDir, [folder('a', id), folder('b', id)]), one);
    const known = { commit: root };
    expect(await own.objectionsTo({ tips: [one], known })).toEqual([]);
    expect(await own.objectionsTo({ tips: [both], known: { commit: one } })).toEqual([
      expect.objectContaining({ problem: expect.stringContaining('paths of more than 200 MiB') }),
    ]);
    const again = commit(tree(gitDir, [folder('c', id)]), one);
    expect(await own.objectionsTo({ tips: [again], known })).toEqual([
      expect.objectContaining({
        problem: expect.stringContaining('changes paths of more than 250 MiB'),
      }),
    ]);
  });

  test('are read in the history, commit by commit', async () => {
    const own = readerOf(1_000_000);
    const added = commit(tree(gitDir, [folder('a', longPaths(190))]), root);
    const removed = commit(tree(gitDir, [file('a')]), added);
    const last = commit(tree(gitDir, [file('b')]), removed);
    const counts: [string, number | undefined][] = [];
    for await (const { id, changes: lists } of own.history(root, last)) {
      counts.push([id, lists[0]?.length]);
    }
    expect(counts).toEqual([
      [added, 190 * 190 + 1],
      [removed, 190 * 190 + 1],
      [last, 2],
    ]);
  });

  test('are read in a commit that has none of the paths before, where git has the memory', async () => {
    limitGitMemory(1024);
    onTestFinished(() => limitGitMemory(DEFAULT_MEMORY_MIB));
    const own = readerOf(1_000_000);
    const id = longPaths(190);
    const before = commit(tree(gitDir, [folder('a', id)]), root);
    const after = commit(tree(gitDir, [folder('b', id)]), before);
    expect(await own.diff(before, after)).toHaveLength(2 * 190 * 190);
  });
});
