/** Commits whose messages together exceed the memory of a git process: read all the same. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { DEFAULT_MEMORY_MIB, limitGitMemory } from '../../../src/git/process/process-limits.ts';
import { AncestryCache } from '../../../src/git/reading/ancestry-cache.ts';
import { containsCommit } from '../../../src/git/reading/contains-commit.ts';
import { listParents } from '../../../src/git/reading/history.ts';
import { listBranches } from '../../../src/git/reading/list-branches.ts';
import { Reader } from '../../../src/git/reading/reader.ts';
import { isOnSomeRef } from '../../../src/git/reading/resolve-commit.ts';
import { commitOf, FILE, Pack } from '../../hostile/objects.ts';
import { git } from '../../support/git.ts';

const COMMITS = 150;
const MESSAGE = 'm'.repeat(1_000_000);
let gitDir: string;
const ids: string[] = [];

beforeAll(() => {
  gitDir = mkdtempSync(join(tmpdir(), 'gitplane-test-'));
  git(gitDir, ['init', '-q', '--bare', '-b', 'main', '.']);
  const pack = new Pack();
  for (let i = 0; i < COMMITS; i++) {
    const tree = pack.tree([{ mode: FILE, name: 'f.yaml', id: pack.blob(`${i}`) }]);
    ids.push(pack.add('commit', commitOf(tree, ids.slice(-1), { message: `${i} ${MESSAGE}` })));
  }
  git(gitDir, ['index-pack', '--stdin'], { input: pack.bytes() });
  const refs = ids.map((id, i) => `create refs/heads/${i} ${id}\n`);
  refs.push(`create refs/heads/main ${tip()}\n`);
  git(gitDir, ['update-ref', '--stdin'], { input: refs.join('') });
  limitGitMemory(64);
});
afterAll(() => {
  limitGitMemory(DEFAULT_MEMORY_MIB);
  rmSync(gitDir, { recursive: true });
});
beforeEach(() => rmSync(join(gitDir, 'objects/info'), { recursive: true, force: true }));

function tip(): string {
  return ids.at(-1) ?? '';
}

function first(): string {
  return ids[0] ?? '';
}

function reader(): Reader {
  const made = new Reader({ gitDir });
  onTestFinished(() => made.close());
  return made;
}

describe('150 commits with messages of 1 MB, for processes of 64 MiB', () => {
  test.each([
    ['from the beginning', () => undefined, COMMITS],
    ['from a commit on', first, COMMITS - 1],
  ])('have a history %s', async (_which, from, count) => {
    const paths: (string | undefined)[] = [];
    for await (const { changes } of reader().history(from(), tip())) {
      paths.push(changes[0]?.[0]?.path);
    }
    expect(paths).toEqual(new Array(count).fill('f.yaml'));
  });

  test('are compared one after the other by one process', async () => {
    const one = reader();
    for (const [i, id] of ids.slice(1).entries()) {
      expect(await one.diff(ids[i], id)).toMatchObject([{ path: 'f.yaml' }]);
    }
  });

  test.each<[string, () => Promise<unknown>, () => unknown]>([
    ['a merge base', () => reader().mergeBases(first(), tip()), () => [first()]],
    ['ancestors', () => reader().isAncestor(first(), tip()), () => true],
    ['no ancestors', () => reader().isAncestor(tip(), first()), () => false],
    ['a branch that reaches them', () => isOnSomeRef({ gitDir }, first()), () => true],
    ['members', () => containsCommit(gitDir, tip(), first()), () => true],
  ])('have %s', async (_what, answer, expected) => {
    expect(await answer()).toEqual(expected());
  });

  test('are listed as branches', async () => {
    const own = reader();
    const commitMetadata = own.commitMetadata.bind(own);
    const branches = await listBranches({ gitDir, commitMetadata }, 3);
    const subject = expect.stringMatching(/^\d+ m{250,254}$/);
    const expected = { time: 1_700_000_000, author: 'Mallory', subject };
    expect(branches).toEqual(new Array(3).fill(expect.objectContaining(expected)));
  });

  test('have a line that is kept in memory', async () => {
    const one = reader();
    const cache = new AncestryCache({
      head: async () => tip(),
      read: one.links,
      list: (range) => listParents({ gitDir }, range),
    });
    expect((await cache.line(tip(), first())).map(({ id }) => id)).toEqual(ids.slice(1).reverse());
  });
});
