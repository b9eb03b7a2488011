/** Ancestry in memory, held against git for random histories. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AncestryCache } from '../../../src/git/reading/ancestry-cache.ts';
import { CommitNumbers } from '../../../src/git/reading/commit-numbers.ts';
import { listParents } from '../../../src/git/reading/history.ts';
import { Reader } from '../../../src/git/reading/reader.ts';
import { bareRepository, commitOf, git, openForTest, publish, tryGit } from '../../support/git.ts';
import { forMilliseconds, runs } from '../../support/properties.ts';

/** Distance of each parent of a commit, in the order in which they are made. */
type Shape = readonly (readonly number[])[];

const shape: fc.Arbitrary<Shape> = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.constant([1]) },
    { weight: 3, arbitrary: fc.tuple(fc.constant(1), fc.integer({ min: 2, max: 6 })) },
    { weight: 2, arbitrary: fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 3 }) },
  ),
  { minLength: 5, maxLength: 60 },
);

/** Makes the commits, each of its own second. Returns their ids, parents first. */
function make(gitDir: string, commits: Shape): string[] {
  const lines = commits.map((distances, at) => {
    const parents = [...new Set(distances.map((distance) => at - distance))].filter((i) => i >= 0);
    const links = parents.map((i, n) => `${n === 0 ? 'from' : 'merge'} :${i + 1}\n`).join('');
    const reset = parents.length === 0 ? 'reset refs/heads/main\n' : '';
    const time = 1_700_000_000 + at;
    return `${reset}commit refs/heads/main\nmark :${at + 1}\ncommitter a <a@example.com> ${time} +0000\ndata 0\n${links}\n`;
  });
  const file = join(gitDir, 'test-marks');
  const args = ['fast-import', '--quiet', '--force', `--export-marks=${file}`];
  git(gitDir, args, { input: lines.join('') });
  const marks = readFileSync(file, 'utf8').trim().split('\n');
  const ids = new Map(marks.map((line) => [line.split(' ')[0], line.split(' ')[1]]));
  return commits.map((_, at) => ids.get(`:${at + 1}`) ?? '');
}

/** A cache whose branch is where `head` is set to. */
function cacheOf(gitDir: string, capacity: number) {
  const branch: { head: string | undefined } = { head: undefined };
  const plain = new Reader({ gitDir });
  const ancestry = new AncestryCache({
    head: async () => branch.head,
    read: (id) => plain.links(id),
    list: (range) => listParents({ gitDir }, range),
    capacity,
  });
  const reader = new Reader({ gitDir }, { ancestry, isUnreached: async () => true });
  const close = () => Promise.all([plain.close(), reader.close()]);
  return { branch, ancestry, reader, plain, close };
}

async function idsOf(commits: AsyncIterable<{ id: string }>): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of commits) ids.push(id);
  return ids;
}

const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');

test('ancestors, merge bases and ranges are those of git, whatever the branch does', async () => {
  await fc.assert(
    fc.asyncProperty(
      shape,
      fc.constantFrom(8, 16, 64),
      fc.array(fc.tuple(fc.nat(), fc.nat(), fc.nat()), { minLength: 4, maxLength: 8 }),
      forMilliseconds(60_000, async (commits, capacity, questions) => {
        const gitDir = await bareRepository();
        const ids = make(gitDir, commits);
        const { branch, reader, close } = cacheOf(gitDir, capacity);
        const pick = (n: number): string => ids[n % ids.length] ?? '';
        try {
          for (const [head, a, b] of questions) {
            branch.head = pick(head);
            git(gitDir, ['update-ref', 'refs/heads/main', branch.head]);
            for (const [one, other] of [
              [branch.head, pick(b)],
              [pick(a), pick(b)],
            ] as const) {
              const bases = lines(tryGit(gitDir, ['merge-base', '--all', one, other]).stdout);
              expect((await reader.mergeBases(one, other)).toSorted()).toEqual(bases.toSorted());
              const args = ['merge-base', '--is-ancestor', one, other];
              expect(await reader.isAncestor(one, other)).toBe(tryGit(gitDir, args).status === 0);
              const listing = ['rev-list', '--topo-order', '--reverse', other, `^${one}`];
              const range = lines(git(gitDir, listing));
              expect(await idsOf(reader.history(one, other))).toEqual(range);
            }
            const listing = ['rev-list', '--topo-order', '--reverse', pick(a), '--not', '--all'];
            expect(await idsOf(reader.newHistory([pick(a)]))).toEqual(lines(git(gitDir, listing)));
          }
        } finally {
          await close();
        }
      }),
    ),
    { numRuns: runs(12) },
  );
}, 120_000);

describe('answers from memory', () => {
  /** A line of 40 commits, an early fork that is merged late, and a commit on top of the fork. */
  async function branched() {
    const gitDir = await bareRepository();
    const line: Shape = Array.from({ length: 40 }, () => [1]);
    const ids = make(gitDir, [...line, [35], [2, 1], [1], [1], [4]]);
    const [pushed = '', , , tip = '', again = ''] = ids.slice(40);
    const known = cacheOf(gitDir, 128);
    known.branch.head = tip;
    const read = (id: string) => known.reader.links(id);
    return { ...known, gitDir, ids, tip, again, pushed, read };
  }

  test('the base of a commit on top of a merged one is that one, without git', async () => {
    const { ancestry, again, tip, pushed, read, close } = await branched();
    expect(await ancestry.mergeBase(tip, again, read)).toBe(pushed);
    expect(await ancestry.isAncestor(pushed, tip, read)).toBe(true);
    expect(await ancestry.isAncestor(tip, again, read)).toBe(false);
    expect(await ancestry.chain(tip, again, read)).toMatchObject([{ id: again }]);
    await close();
  });

  test('a chain on a commit that is many steps back is listed alone', async () => {
    const { ancestry, gitDir, ids, tip, read, close } = await branched();
    const [base = ''] = ids;
    const tree = git(gitDir, ['rev-parse', `${base}^{tree}`]);
    const person = { GIT_AUTHOR_DATE: '1700000100 +0000', GIT_COMMITTER_DATE: '1700000100 +0000' };
    const child = (parent: string): string =>
      git(gitDir, ['commit-tree', '-m', 'x', '-p', parent, tree], { env: person });
    const one = child(base);
    const two = child(one);
    expect(await ancestry.chain(tip, two, read)).toMatchObject([{ id: one }, { id: two }]);
    expect(await ancestry.mergeBase(tip, two, read)).toBe(base);
    expect(await ancestry.forks(tip, two, read)).toEqual([base]);
    expect(await ancestry.isAncestor(ids[10] ?? '', two, read)).toBe(false);
    await close();
  });

  test('unrelated histories, and commits that are missing, are left to git', async () => {
    const { ancestry, gitDir, tip, read, close } = await branched();
    const tree = git(gitDir, ['rev-parse', `${tip}^{tree}`]);
    const root = git(gitDir, ['commit-tree', '-m', 'x', tree]);
    const missing = 'f'.repeat(40);
    for (const other of [root, missing]) {
      expect(await ancestry.mergeBase(tip, other, read)).toBeUndefined();
      expect(await ancestry.chain(tip, other, read)).toBeUndefined();
      expect(await ancestry.isAncestor(tip, other, read)).toBeUndefined();
    }
    await close();
  });

  test('a question during which commits get other numbers is left to git', async () => {
    const { branch, ancestry, gitDir, ids, tip, again, read, close } = await branched();
    const elsewhere = git(gitDir, ['commit-tree', '-m', 'x', `${tip}^{tree}`]);
    const reset = async (id: string) => {
      branch.head = elsewhere;
      await ancestry.follow(elsewhere);
      return await read(id);
    };
    const ask = [
      () => ancestry.mergeBase(tip, again, reset),
      () => ancestry.isAncestor(ids[3] ?? '', again, reset),
      () => ancestry.chain(tip, again, reset),
    ];
    for (const one of ask) {
      branch.head = tip;
      await ancestry.follow(tip);
      expect(await one()).toBeUndefined();
    }
    branch.head = tip;
    await ancestry.follow(tip);
    expect(await ancestry.forks(tip, again, reset)).toEqual([]);
    await close();
  });

  test('a question during which the older half is dropped is left to git', async () => {
    const { ancestry, tip, close } = await branched();
    await ancestry.follow(tip);
    const grown = [tip];
    const grow = (count: number): void => {
      for (let i = 0; i < count; i += 1) {
        const id = String(grown.length).padStart(40, '0');
        ancestry.append([{ id, parents: [grown.at(-1) ?? ''] }]);
        grown.push(id);
      }
    };
    grow(70);
    const [recent = '', older = ''] = [grown[65], grown[60]];
    const [merge, side] = ['a'.repeat(40), 'b'.repeat(40)];
    const links = { tree: 'c'.repeat(40), committerTime: 0 };
    // The newest base is found, then the side is read.
    const read = async (id: string) => {
      if (id === merge) return { ...links, parents: [side, recent] };
      grow(30);
      return { ...links, parents: [older] };
    };
    expect(await ancestry.mergeBase(grown.at(-1) ?? '', merge, read)).toBeUndefined();
    await close();
  });

  test('a criss-cross merge is left to git', async () => {
    const gitDir = await bareRepository();
    // Two lines that merge each other: 1 and 2 are both bases of 3 and 4.
    const ids = make(gitDir, [[], [1], [2], [2, 1], [2, 3]]);
    const { branch, ancestry, reader, close } = cacheOf(gitDir, 16);
    const [, , , tip = '', other = ''] = ids;
    branch.head = tip;
    expect(await ancestry.mergeBase(tip, other, (id) => reader.links(id))).toBeUndefined();
    expect((await reader.mergeBases(tip, other)).toSorted()).toEqual(ids.slice(1, 3).toSorted());
    await close();
  });

  test('commits that this process publishes are known without being read', async () => {
    const repository = await openForTest();
    const { ancestry } = repository;
    const [first = ''] = await publish(repository, commitOf({ a: '0' }));
    // Read once, to begin with.
    await ancestry.follow(first);
    let tip = first;
    for (let i = 1; i < 5; i += 1) {
      [tip = ''] = await publish(repository, commitOf({ a: String(i) }));
    }
    const unread = (): Promise<undefined> => Promise.reject(new Error('read'));
    expect(await ancestry.mergeBase(tip, first, unread)).toBe(first);
    expect(await ancestry.isAncestor(first, tip, unread)).toBe(true);
    expect(await ancestry.isAncestor(tip, first, unread)).toBe(false);
  });
});

test('numbers of commits are found again, also those with equal first bytes', () => {
  const numbers = new CommitNumbers(64);
  const ids = Array.from({ length: 64 }, (_, i) => `deadbeef${String(i).padStart(32, '0')}`);
  for (const [i, id] of ids.entries()) {
    expect(numbers.find(id)).toBeUndefined();
    expect(numbers.add(id)).toBe(i);
  }
  expect(ids.map((id) => numbers.find(id))).toEqual(ids.map((_, i) => i));
  expect(ids.map((_, i) => numbers.id(i))).toEqual(ids);
  expect(numbers.size).toBe(64);
  numbers.clear();
  expect(numbers.find(ids[0] ?? '')).toBeUndefined();
});
