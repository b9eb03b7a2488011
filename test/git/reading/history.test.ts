/** History with every shape of merge, held against `git diff-tree` of each pair of commits. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import type { BareRepository } from '../../../src/git/bare-repository.ts';
import type { HistoryCommit, PathChange } from '../../../src/git/repository.ts';
import { commitOf, git, openForTest, publish } from '../../support/git.ts';

let repository: BareRepository;
let clock: number;

beforeEach(async () => {
  repository = await openForTest();
  clock = 1_600_000_000;
});

/** A commit made by git, with any parents and any files. */
function commit(files: Readonly<Record<string, string>>, ...parents: readonly string[]): string {
  const { gitDir } = repository;
  const env = { GIT_INDEX_FILE: join(gitDir, `test-index-${clock}`) };
  for (const [path, content] of Object.entries(files)) {
    const blob = git(gitDir, ['hash-object', '-w', '--stdin'], { input: content });
    git(gitDir, ['update-index', '--add', '--cacheinfo', `100644,${blob},${path}`], { env });
  }
  const tree = git(gitDir, ['write-tree'], { env });
  clock += 1;
  const dates = { GIT_AUTHOR_DATE: `${clock} +0200`, GIT_COMMITTER_DATE: `${clock} +0200` };
  const args = ['commit-tree', '-m', `commit ${clock}`, ...parents.flatMap((p) => ['-p', p]), tree];
  return git(gitDir, args, { env: dates });
}

async function collect(from: string | undefined, to: string): Promise<HistoryCommit[]> {
  const commits: HistoryCommit[] = [];
  for await (const one of repository.history(from, to)) commits.push(one);
  return commits;
}

/** The same from git, one comparison at a time. */
function expected(id: string): HistoryCommit {
  const { gitDir } = repository;
  const [committerTime, ...parents] = git(gitDir, ['log', '-1', '--format=%ct %P', id]).split(' ');
  const emptyTree = '4b825dc642cb6eb9a060e54bf8d69288fbee4904';
  const against = parents.filter((p) => p !== '');
  return {
    id,
    parents: against,
    committerTime: Number(committerTime),
    changes: (against.length === 0 ? [emptyTree] : against).map((old) => rawDiff(old, id)),
  };
}

function rawDiff(from: string, to: string): PathChange[] {
  const args = ['diff-tree', '-r', '-z', '--no-renames', '--no-abbrev', from, to];
  const fields = git(repository.gitDir, args).split('\0');
  const changes: PathChange[] = [];
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const [, mode = '', oldId = '', newId = ''] = (fields[i] ?? '').split(' ');
    changes.push({
      path: fields[i + 1] ?? '',
      ...(/[^0]/.test(oldId) && { oldId }),
      ...(/[^0]/.test(newId) && { newId }),
      mode,
    });
  }
  return changes;
}

/** Everything git lists is there once, right in every detail, and after its parents. */
async function expectHistory(from: string | undefined, to: string): Promise<HistoryCommit[]> {
  const commits = await collect(from, to);
  const range = from === undefined ? [to] : [to, `^${from}`];
  const listed = git(repository.gitDir, ['rev-list', ...range]).split('\n');
  expect(commits.map((c) => c.id).sort()).toEqual(listed.filter((id) => id !== '').sort());
  const seen = new Set<string>();
  const inRange = new Set(listed);
  for (const one of commits) {
    expect(one).toEqual(expected(one.id));
    for (const parent of one.parents) if (inRange.has(parent)) expect(seen).toContain(parent);
    seen.add(one.id);
  }
  return commits;
}

test('grafts and replacements give no commit another history', async () => {
  const { gitDir } = repository;
  const first = commit({ a: '1' });
  const second = commit({ a: '2' }, first);
  const other = commit({ a: '3' });
  mkdirSync(join(gitDir, 'info'), { recursive: true });
  writeFileSync(join(gitDir, 'info/grafts'), `${second}\n`);
  git(gitDir, ['replace', first, other]);

  expect((await collect(undefined, second)).map(({ id }) => id).sort()).toEqual(
    [first, second].sort(),
  );
  expect(await repository.rootCommit(second)).toBe(first);
  expect(await repository.isAncestor(first, second)).toBe(true);
  expect(await repository.mergeBases(first, second)).toEqual([first]);
});

describe('the shape of the graph', () => {
  test('a line: the root against nothing, every other against its parent', async () => {
    const ids = await publish(
      repository,
      commitOf({ a: '1', 'b/c': '1' }),
      commitOf({ a: '2' }),
      commitOf({}),
      commitOf({ 'b/c': null, d: '1' }),
    );
    const commits = await expectHistory(undefined, ids[3] ?? '');
    expect(commits.map((c) => c.id)).toEqual(ids);
    expect(commits.map((c) => c.changes.map((list) => list.map((change) => change.path)))).toEqual([
      [['a', 'b/c']],
      [['a']],
      [[]],
      [['b/c', 'd']],
    ]);
  });

  test('a merge has one list a parent, also where one of them is empty', async () => {
    const root = commit({ a: '1', b: '1' });
    const left = commit({ a: '2', b: '1' }, root);
    const right = commit({ a: '1', b: '2' }, root);
    const merge = commit({ a: '2', b: '2' }, left, right);
    const ours = commit({ a: '2', b: '1' }, left, right);
    const commits = await expectHistory(undefined, commit({ a: '2', b: '2' }, merge, ours));
    const byId = new Map(commits.map((c) => [c.id, c]));
    const paths = (id: string) => byId.get(id)?.changes.map((list) => list.map((c) => c.path));
    expect(paths(merge)).toEqual([['b'], ['a']]);
    expect(paths(ours)).toEqual([[], ['a', 'b']]);
  });

  test('an evil merge shows the changes that neither parent had', async () => {
    const root = commit({ a: '1' });
    const left = commit({ a: '1', l: '1' }, root);
    const right = commit({ a: '1', r: '1' }, root);
    const evil = commit({ a: 'evil', l: '1', r: '1', own: '1' }, left, right);
    const commits = await expectHistory(undefined, evil);
    expect(commits.at(-1)?.changes.map((list) => list.map((c) => c.path))).toEqual([
      ['a', 'own', 'r'],
      ['a', 'l', 'own'],
    ]);
  });

  test('criss-cross merges', async () => {
    const root = commit({ a: '1', b: '1' });
    const left = commit({ a: '2', b: '1' }, root);
    const right = commit({ a: '1', b: '2' }, root);
    const one = commit({ a: '2', b: '2' }, left, right);
    const two = commit({ a: '2', b: '3' }, right, left);
    await expectHistory(undefined, commit({ a: '2', b: '4' }, one, two));
  });

  test('an octopus, and merges of unrelated roots', async () => {
    const roots = ['x', 'y', 'z'].map((name) => commit({ [name]: '1' }));
    const octopus = commit({ x: '1', y: '1', z: '1', own: '1' }, ...roots);
    const commits = await expectHistory(undefined, octopus);
    expect(commits.at(-1)?.changes).toHaveLength(3);
    expect(commits.filter((c) => c.parents.length === 0)).toHaveLength(3);
  });

  test('a clock that runs backwards does not bring a child before its parent', async () => {
    const root = commit({ a: '1' });
    clock = 1_500_000_000;
    const early = commit({ a: '2' }, root);
    clock = 1_700_000_000;
    const late = commit({ b: '1' }, early);
    clock = 1_400_000_000;
    await expectHistory(undefined, commit({ c: '1' }, late, early));
  });
});

describe('a range', () => {
  test('contains commits that `from` does not reach, compared with parents outside of the range too', async () => {
    const root = commit({ a: '1' });
    const old = commit({ a: '1', old: '1' }, root);
    const seen = commit({ a: '2' }, root);
    const merge = commit({ a: '2', old: '1' }, seen, old);
    const commits = await expectHistory(seen, merge);
    expect(commits.map((c) => c.id)).toEqual([old, merge]);
    expect(await collect(merge, merge)).toEqual([]);
    expect(await collect(merge, seen)).toEqual([]);
  });

  test('may be left early, and leaves no process behind', async () => {
    await publish(repository, ...Array.from({ length: 600 }, (_, i) => commitOf({ a: `${i}` })));
    const head = (await repository.head()) ?? '';
    for await (const first of repository.history(undefined, head)) {
      expect(first.parents).toEqual([]);
      break;
    }
    expect(await collect(undefined, head)).toHaveLength(600);
  });

  test('a range with an unknown end is an error, not an empty history', async () => {
    const id = commit({ a: '1' });
    const unknown = '1'.repeat(40);
    await expect(collect(undefined, unknown)).rejects.toThrow('git rev-list failed');
    await expect(collect(unknown, id)).rejects.toThrow('git rev-list failed');
    await expect(collect(undefined, 'HEAD')).rejects.toThrow('is not an object id');
  });
});

test('modes, odd names and large commits come out exactly', async () => {
  const many = Object.fromEntries(
    Array.from({ length: 3000 }, (_, i) => [`d${i % 50}/${'long-'.repeat(10)}${i}`, `${i % 9}`]),
  );
  await publish(repository, commitOf(many), commitOf({ ':100644 =': '1', '=': '2', 'ä "q"': '3' }));
  const { gitDir } = repository;
  const blob = git(gitDir, ['hash-object', '-w', '--stdin'], { input: 'x' });
  const entries = [
    `120000 blob ${blob}\tlink`,
    `100755 blob ${blob}\t=\n=`,
    `160000 commit ${'2'.repeat(40)}\tsub`,
  ];
  const input = entries.map((entry) => `${entry}\0`).join('');
  const tree = git(gitDir, ['mktree', '-z', '--missing'], { input });
  const head = (await repository.head()) ?? '';
  await expectHistory(undefined, git(gitDir, ['commit-tree', '-p', head, '-m', 'odd', tree]));
});

test('a missing tree in the middle is an error', async () => {
  const root = commit({ a: '1' });
  const broken = git(
    repository.gitDir,
    ['hash-object', '-t', 'commit', '-w', '--stdin', '--literally'],
    {
      input: `tree ${'3'.repeat(40)}\nparent ${root}\nauthor A <a> 1 +0000\ncommitter A <a> 1 +0000\n\nx\n`,
    },
  );
  await expect(collect(undefined, broken)).rejects.toThrow(`Object ${'3'.repeat(40)} is not in`);
});

describe('a selection of paths', () => {
  const paths = {
    under: 'a*b',
    endings: ['.yaml', '.yml'],
    others: ['.rules', ':(top)x', 'c?/[d]'],
  };
  const selected = ['a*b/x.yaml', 'a*b/ä/y.yml', 'a*b/.hidden/z.yaml', ...paths.others];
  const left = [
    'a*b.yaml',
    'axb/x.yaml',
    'a*b/x.yaml.txt',
    'x.yaml',
    'a*b/.rules',
    'cd/[d]',
    'c?/d',
  ];

  function written(text: string): Record<string, string> {
    return Object.fromEntries([...selected, ...left].map((path) => [path, `${path} ${text}`]));
  }

  async function selectedIn(from: string | undefined, to: string): Promise<HistoryCommit[]> {
    const commits: HistoryCommit[] = [];
    for await (const one of repository.history(from, to, { paths })) commits.push(one);
    return commits;
  }

  test('leaves out the other changes of each commit, and no commit', async () => {
    const root = commit(written('1'));
    const one = commit({ ...written('2'), 'only.txt': '1' }, root);
    const none = commit({ ...written('2'), 'only.txt': '2' }, one);
    const side = commit(written('3'), root);
    const merge = commit(written('4'), none, side);
    const all = await collect(undefined, merge);
    const wanted = all.map(({ changes, ...of }) => ({
      ...of,
      changes: changes.map((list) => list.filter(({ path }) => selected.includes(path))),
    }));
    expect(wanted.find(({ id }) => id === merge)?.changes.map(({ length }) => length)).toEqual([
      selected.length,
      selected.length,
    ]);
    expect(await selectedIn(undefined, merge)).toEqual(wanted);
    // One commit on top of another comes from a process that stays.
    expect(await selectedIn(root, one)).toEqual(wanted.filter(({ id }) => id === one));
    expect(await selectedIn(one, none)).toEqual(wanted.filter(({ id }) => id === none));
  });

  test('leaves out the other files of a list', async () => {
    const id = commit(written('1'));
    const files = await repository.listFiles(id);
    expect(await repository.listFiles(id, paths)).toEqual(
      files.filter(({ path }) => selected.includes(path)),
    );
  });
});

test('commits that are compared with no parent come without changes', async () => {
  const root = commit({ a: '1' });
  const next = commit({ a: '2' }, root);
  const merge = commit({ a: '3' }, next, root);
  for (const [from, to] of [
    [undefined, merge],
    [root, next],
  ] as const) {
    const commits: HistoryCommit[] = [];
    for await (const one of repository.history(from, to, { against: 'no parent' }))
      commits.push(one);
    const all = await collect(from, to);
    expect(commits).toEqual(all.map((one) => ({ ...one, changes: [] })));
  }
});
