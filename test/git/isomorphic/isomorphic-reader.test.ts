/** The reader without git gives the answers of the one by git, over any history and any storage. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openIsomorphicReader } from '../../../src/git/isomorphic/isomorphic-reader.ts';
import { objectId } from '../../../src/git/objects/object-id.ts';
import { Reader } from '../../../src/git/reading/reader.ts';
import { resolveCommit } from '../../../src/git/reading/resolve-commit.ts';
import { git, temporaryFolder } from '../../support/git.ts';
import { runs } from '../../support/properties.ts';

const WHO = 'Ada <ada@example.com>';

interface Step {
  readonly parents: readonly number[];
  readonly files: Readonly<Record<string, string | null>>;
  readonly age: number;
}

const name = fc.constantFrom('a', 'a.b', 'a/b', 'a/c', 'a-b', 'x/y/z', 'x/ä', 'long');
const text = fc.constantFrom('', 'one\n', 'two\n', 'line of text\n'.repeat(200), null);
const step: fc.Arbitrary<Step> = fc.record({
  parents: fc.array(fc.nat(30), { maxLength: 3 }),
  files: fc.dictionary(name, text, { maxKeys: 4 }),
  age: fc.nat(3),
});
const storage = fc.constantFrom('loose', 'one pack', 'two packs', 'mixed');

/** A commit per step. Parents are earlier commits, so merges, second roots and side lines occur. */
function importHistory(gitDir: string, steps: readonly Step[]): void {
  const commits = steps.map(({ parents, files, age }, i) => {
    const all = [...new Set(parents.map((parent) => parent % Math.max(i, 1)))];
    const [first, ...others] = i === 0 ? [] : all;
    const time = 1_700_000_000 + i * 10 - age * 15;
    return [
      `commit refs/heads/c${i}\nmark :${i + 1}\ncommitter ${WHO} ${time} +0000\ndata 1\nm\n`,
      first === undefined ? '' : `from :${first + 1}\n`,
      ...others.map((parent) => `merge :${parent + 1}\n`),
      ...Object.entries(files).map(([path, content]) =>
        content === null
          ? `D "${path}"\n`
          : `M ${path === 'long' ? 100755 : 100644} inline "${path}"\ndata ${Buffer.byteLength(content)}\n${content}\n`,
      ),
    ].join('');
  });
  git(gitDir, ['-c', 'fastimport.unpackLimit=100000', 'fast-import', '--quiet', '--force'], {
    input: commits.join('\n'),
  });
}

function store(gitDir: string, how: string, commits: number): void {
  if (how === 'loose') return;
  if (how === 'one pack') git(gitDir, ['gc', '-q']);
  else {
    const half = `refs/heads/c${Math.floor(commits / 2)}`;
    const packs = join(gitDir, 'objects', 'pack', 'pack');
    git(gitDir, ['pack-objects', '--revs', '-q', packs], { input: `${half}\n` });
    git(gitDir, ['prune-packed', '-q']);
    if (how === 'two packs') git(gitDir, ['repack', '-dq']);
    git(gitDir, ['pack-refs', '--all']);
  }
}

async function listed<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

function emptyRepository(): string {
  const gitDir = join(temporaryFolder(), 'r.git');
  mkdirSync(gitDir);
  git(gitDir, ['init', '-q', '--bare', '-b', 'c0', '.']);
  return gitDir;
}

test('reads of random histories agree with git', async () => {
  const histories = fc.array(step, { minLength: 1, maxLength: 12 });
  const law = fc.asyncProperty(histories, storage, fc.nat(100), async (steps, how, pick) => {
    const gitDir = emptyRepository();
    importHistory(gitDir, steps);
    store(gitDir, how, steps.length);
    const ours = await openIsomorphicReader(gitDir);
    const theirs = new Reader({ gitDir });
    try {
      const [to = '', from = ''] = [`c${steps.length - 1}`, `c${pick % steps.length}`].map((ref) =>
        git(gitDir, ['rev-parse', ref]),
      );
      expect(await ours.listFiles(to)).toEqual(await theirs.listFiles(to));
      expect(await ours.listFiles(to, 'a')).toEqual(await theirs.listFiles(to, 'a'));
      const paths = { under: 'a', endings: ['b', '.yaml'], others: ['b'] };
      expect(await ours.listFiles(to, paths)).toEqual(await theirs.listFiles(to, paths));
      for (const scope of [{ paths }, { against: 'no parent' }] as const) {
        const selected = await listed(theirs.history(undefined, to, scope));
        expect(await listed(ours.history(undefined, to, scope))).toEqual(selected);
      }
      expect(await ours.diff(from, to)).toEqual(await theirs.diff(from, to));
      const all = await listed(theirs.history(undefined, to));
      expect(await listed(ours.history(undefined, to))).toEqual(all);
      expect(await listed(ours.history(from, to))).toEqual(await listed(theirs.history(from, to)));
      expect(await ours.mergeBases(from, to)).toEqual(await theirs.mergeBases(from, to));
      expect(await ours.isAncestor(from, to)).toBe(await theirs.isAncestor(from, to));
      expect(await ours.rootCommit(to)).toBe(await theirs.rootCommit(to));
      expect(await ours.commitMetadata(to)).toEqual(await theirs.commitMetadata(to));
      expect(await ours.checkLimits(to)).toEqual(await theirs.checkLimits(to));
      expect(await ours.folderWidths(to)).toEqual(await theirs.folderWidths(to));
      const ids = all.flatMap(({ changes }) => changes.flat().flatMap(({ newId }) => newId ?? []));
      expect(await ours.readBlobs(ids)).toEqual(await theirs.readBlobs(ids));
      const pushed = { tips: [to], known: { commit: from } };
      expect(await ours.objectionsTo(pushed)).toEqual(await theirs.objectionsTo(pushed));
      for (const suffix of ['', '~1', '^2', '~2^1', '^{commit}', '~99']) {
        const expression = `refs/heads/c${steps.length - 1}${suffix}`;
        const expected = await resolveCommit({ gitDir }, expression);
        expect(await ours.resolve(expression)).toBe(expected);
      }
    } finally {
      await theirs.close();
      rmSync(gitDir, { recursive: true, force: true });
    }
  });
  await fc.assert(law, { numRuns: runs(25) });
});

/** A clone with commits that change one large file, so that its packs hold chains of deltas. */
function deltified(): string {
  const folder = temporaryFolder();
  git(folder, ['init', '-q', '-b', 'main', '.']);
  const lines = Array.from({ length: 400 }, (_, i) => `line ${i}`);
  for (let i = 0; i < 12; i++) {
    lines[i * 30] = `changed ${i}`;
    writeFileSync(join(folder, 'f.yaml'), lines.join('\n'));
    git(folder, ['add', '-A']);
    git(folder, ['commit', '-qm', `c${i}`]);
  }
  git(folder, ['tag', '-a', '-m', 'first', 'v1']);
  git(folder, ['tag', '-a', '-m', 'of a tag', 'v2', 'v1']);
  git(folder, ['gc', '-q', '--aggressive']);
  return folder;
}

test('chains of deltas, packed refs, tags of tags and short ids are resolved as git does', async () => {
  const folder = deltified();
  const gitDir = join(folder, '.git');
  const chains = git(gitDir, ['verify-pack', '-v', ...packsOf(gitDir)]);
  expect(chains).toMatch(/chain length = [3-9]/);
  const ours = await openIsomorphicReader(gitDir);
  const head = git(folder, ['rev-parse', 'HEAD']);
  const names = ['HEAD', '@', '@~3', 'main', 'v1', 'v2', 'v2^{}', 'tags/v1', 'heads/main~11'];
  for (const expression of [...names, head, head.slice(0, 9), 'nothing', 'HEAD~12', '-x', '']) {
    const expected = await resolveCommit({ gitDir }, expression);
    expect([expression, await ours.resolve(expression)]).toEqual([expression, expected]);
  }
  for (const file of [await ours.resolve('HEAD~11'), head]) {
    const [{ id } = { id: '' }] = await ours.listFiles(file ?? '');
    const text = git(folder, ['cat-file', 'blob', id]);
    expect((await ours.readBlobs([id])).map(String)).toEqual([text]);
  }
});

function packsOf(gitDir: string): string[] {
  const names = git(gitDir, ['count-objects', '-v']);
  expect(names).toContain('packs: 1');
  return git(join(gitDir, 'objects', 'pack'), ['ls-files', '-o', '--', '*.idx'], {
    env: { GIT_DIR: gitDir, GIT_WORK_TREE: join(gitDir, 'objects', 'pack') },
  })
    .split('\n')
    .map((name) => join(gitDir, 'objects', 'pack', name));
}

test('a linked work tree reads its own HEAD and the objects of its repository', async () => {
  const folder = deltified();
  const linked = join(temporaryFolder(), 'linked');
  git(folder, ['worktree', 'add', '-q', '--detach', linked, 'HEAD~4']);
  const gitDir = git(linked, ['rev-parse', '--absolute-git-dir']);
  const ours = await openIsomorphicReader(gitDir);
  expect(await ours.resolve('HEAD')).toBe(git(folder, ['rev-parse', 'HEAD~4']));
  expect(await ours.resolve('main')).toBe(git(folder, ['rev-parse', 'main']));
});

test('a clone with alternates reads the objects of the other repository', async () => {
  const folder = deltified();
  const clone = join(temporaryFolder(), 'clone');
  git(folder, ['clone', '-q', '--shared', folder, clone]);
  const ours = await openIsomorphicReader(join(clone, '.git'));
  const to = (await ours.resolve('HEAD')) ?? '';
  expect(await listed(ours.history(undefined, to))).toHaveLength(12);
});

test('the history of a shallow clone begins where the clone does', async () => {
  const folder = deltified();
  const clone = join(temporaryFolder(), 'clone');
  git(folder, ['clone', '-q', '--depth=3', `file://${folder}`, clone]);
  const gitDir = join(clone, '.git');
  const ours = await openIsomorphicReader(gitDir);
  const theirs = new Reader({ gitDir });
  const to = (await ours.resolve('HEAD')) ?? '';
  const commits = await listed(ours.history(undefined, to));
  expect(commits).toHaveLength(3);
  expect(commits).toEqual(await listed(theirs.history(undefined, to)));
  expect(await ours.rootCommit(to)).toBe(await theirs.rootCommit(to));
  await theirs.close();
});

test('a blob that a partial clone does not have is an error with its remedy', async () => {
  const folder = deltified();
  git(folder, ['config', 'uploadpack.allowFilter', 'true']);
  const clone = join(temporaryFolder(), 'clone');
  const from = `file://${folder}`;
  git(folder, ['clone', '-q', '--bare', '--filter=blob:none', from, clone]);
  const ours = await openIsomorphicReader(clone);
  const to = (await ours.resolve('HEAD')) ?? '';
  const [{ id } = { id: '' }] = await ours.listFiles(to);
  await expect(ours.readBlobs([id])).rejects.toThrow(
    /is not in .*, which is a partial clone\. Clone without --filter/,
  );
});

test('missing, mistyped and large objects are the errors of the reader by git', async () => {
  const folder = deltified();
  const large = `${'x'.repeat(1_500_000)}\n`;
  for (const name of ['one', 'two']) writeFileSync(join(folder, name), name + large);
  git(folder, ['add', '-A']);
  git(folder, ['commit', '-qm', 'large']);
  const gitDir = join(folder, '.git');
  const limits = { maxBlobBytes: 1_000_000 };
  const head = git(folder, ['rev-parse', 'HEAD']);
  const [one = '', two = ''] = ['one', 'two'].map((name) =>
    git(folder, ['rev-parse', `HEAD:${name}`]),
  );
  for (const storedAs of ['loose', 'packed']) {
    if (storedAs === 'packed') git(folder, ['gc', '-q']);
    const ours = await openIsomorphicReader(gitDir, limits);
    const theirs = new Reader({ gitDir }, limits);
    for (const ids of [[one, two], ['1'.repeat(40)], [head]]) {
      const [mine, expected] = await Promise.all(
        [ours, theirs].map((reader) => reader.readBlobs(ids).catch((error: unknown) => error)),
      );
      expect(mine).toEqual(expected);
    }
    await theirs.close();
  }
});

test('an object that would inflate to gigabytes is refused by its header', async () => {
  const gitDir = emptyRepository();
  const size = 8 * 2 ** 30;
  const content = Buffer.concat([Buffer.from(`blob ${size}\0`), Buffer.alloc(1000)]);
  const id = objectId('blob', Buffer.from('a name that is free'));
  mkdirSync(join(gitDir, 'objects', id.slice(0, 2)));
  writeFileSync(join(gitDir, 'objects', id.slice(0, 2), id.slice(2)), deflateSync(content));
  const ours = await openIsomorphicReader(gitDir);
  await expect(ours.readBlobs([id])).rejects.toThrow(`has ${size} bytes; at most`);
});

test('a repository in another format is refused with its remedy', async () => {
  const folder = temporaryFolder();
  git(folder, ['init', '-q', '--bare', '--object-format=sha256', '.']);
  await expect(openIsomorphicReader(folder)).rejects.toThrow(
    /is in the format sha256, which is not read without git\. Install git/,
  );
});
