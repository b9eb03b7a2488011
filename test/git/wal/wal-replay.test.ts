/** The replay of a WAL step by step: which logs it takes, and the files that it flushes, repairs and removes. */
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { thisOwner } from '../../../src/files/owner.ts';
import { GitError, StorageError } from '../../../src/git/git-error.ts';
import { silent } from '../../../src/git/logger.ts';
import { type DurableFiles, realFiles } from '../../../src/git/publication/durable-files.ts';
import type { Publication } from '../../../src/git/publication/publisher.ts';
import { HeadMovedError } from '../../../src/git/repository.ts';
import { walPaths } from '../../../src/git/wal/wal-file.ts';
import {
  decodeWal,
  encodeRecord,
  headPayload,
  publicationKind,
  publicationPayload,
} from '../../../src/git/wal/wal-format.ts';
import { replayWal } from '../../../src/git/wal/wal-replay.ts';
import { FragileFiles } from '../../support/fragile-files.ts';
import {
  commitOf,
  expectSound,
  foreignCommit,
  git,
  openForTest,
  packFiles,
  publish,
  temporaryFolder,
} from '../../support/git.ts';

const deadOwner = thisOwner.replace(/-\d+-\d+$/, '-4194305-1');
/** In a container that this process does not see. */
const foreignOwner = '0123456789ab-7-7';
const ref = 'refs/heads/main';

/** The WAL of a process that wrote three commits and died. */
async function written(owner = deadOwner): Promise<{ gitDir: string; tips: string[] }> {
  const { gitDir } = await openForTest();
  const repository = await openForTest({ gitDir, owner, segmentBytes: 64 * 1024 });
  const tips: string[] = [];
  for (const a of ['1', '2', '3']) tips.push(...(await publish(repository, commitOf({ a }))));
  return { gitDir, tips };
}

/** Replays as the only writer; returns the fields of each warning. */
async function replay(gitDir: string, files: DurableFiles = realFiles): Promise<object[]> {
  const told: object[] = [];
  const logger = { debug: () => undefined, warn: (fields: object) => void told.push(fields) };
  await replayWal(gitDir, { files, logger, isOwn: true });
  return told;
}

function fragile(): FragileFiles {
  const files = new FragileFiles(temporaryFolder());
  onTestFinished(() => files.release());
  return files;
}

const permanentPacks = (gitDir: string): string[] =>
  packFiles(gitDir).filter((name) => /^pack-[0-9a-f]{40}\.pack$/.test(name));
const shortLived = (gitDir: string): string[] =>
  packFiles(gitDir).filter((name) => name.startsWith('pack-gitplane-'));
const logs = (gitDir: string): boolean[] => walPaths(gitDir).map((path) => existsSync(path));

test('the pack and the branch are flushed before packs and WAL files are removed', async () => {
  const { gitDir, tips } = await written();
  const before = permanentPacks(gitDir).length;
  const files = fragile();

  const told = await replay(gitDir, files);

  expect(told).toEqual([{ ref, commit: tips[2], groups: 3, branch: 'there' }]);
  const { operations } = files;
  const first = operations.findIndex((operation) => operation.startsWith('remove'));
  expect(operations.slice(0, first)).toEqual(
    expect.arrayContaining(['syncDirectory pack', 'sync main', 'syncDirectory heads']),
  );
  expect(operations.slice(-4)).toEqual([
    'syncDirectory pack',
    'remove log-0',
    'remove log-1',
    'syncDirectory gitplane',
  ]);
  expect(permanentPacks(gitDir)).toHaveLength(before + 1);
  expect([shortLived(gitDir), logs(gitDir)]).toEqual([[], [false, false]]);
  expectSound(gitDir);
});

test('a replay without WAL files flushes nothing and says nothing', async () => {
  const { gitDir } = await openForTest();
  rmSync(join(gitDir, 'gitplane'), { recursive: true });
  const files = fragile();
  expect([await replay(gitDir, files), files.operations]).toEqual([[], []]);
});

test('an empty WAL is removed by its own successor, without a pack or a word', async () => {
  const { gitDir } = await openForTest();
  const head = encodeRecord({
    kind: 'head',
    epoch: 1,
    sequence: 0,
    payload: headPayload({ ref, owner: deadOwner }),
  });
  const [first, second] = walPaths(gitDir);
  mkdirSync(dirname(first), { recursive: true });
  writeFileSync(first, head);
  writeFileSync(second, Buffer.alloc(4096));

  expect(await replay(gitDir)).toEqual([]);

  expect([packFiles(gitDir), logs(gitDir)]).toEqual([[], [false, false]]);
});

test.each([
  ['log-0 after log-1', [9, 8]],
  ['log-1 after log-0', [8, 9]],
])('the segment with the larger epoch is newer: %s', async (_what, epochs) => {
  const { gitDir, tips } = await written();
  const paths = walPaths(gitDir);
  const all = decodeWal(readFileSync(paths[0]))?.publications ?? [];
  const segment = (epoch: number, publications: readonly Publication[]): Buffer => {
    const owner = headPayload({ ref, owner: deadOwner });
    const records = publications.map((one, i) =>
      encodeRecord({
        kind: publicationKind(one),
        epoch,
        sequence: i + 1,
        payload: publicationPayload(one),
      }),
    );
    const head = encodeRecord({ kind: 'head', epoch, sequence: 0, payload: owner });
    return Buffer.concat([head, ...records]);
  };
  for (const [i, epoch] of epochs.entries()) {
    writeFileSync(paths[i] ?? '', segment(epoch, epoch === 8 ? all.slice(0, 1) : all.slice(1)));
  }

  expect(await replay(gitDir)).toMatchObject([{ commit: tips[2], branch: 'there', groups: 3 }]);
  expectSound(gitDir);
});

test('a branch that is behind moves to the newest write', async () => {
  const { gitDir, tips } = await written();
  writeFileSync(join(gitDir, ref), `${tips[0]}\n`);
  expect(await replay(gitDir)).toMatchObject([{ branch: 'behind' }]);
  expect(git(gitDir, ['rev-parse', 'main'])).toBe(tips[2]);
});

test('a branch that is missing is there again, and its folder is flushed before it is', async () => {
  const { gitDir, tips } = await written();
  writeFileSync(join(gitDir, ref), '\0'.repeat(41));
  const files = fragile();

  expect(await replay(gitDir, files)).toMatchObject([{ branch: 'damaged' }]);

  const { operations } = files;
  const removed = operations.indexOf('remove main');
  expect(operations[removed + 1]).toBe('syncDirectory heads');
  expect(git(gitDir, ['rev-parse', 'main'])).toBe(tips[2]);
});

test('writes that a branch elsewhere does not have are named in the log', async () => {
  const { gitDir, tips } = await written();
  const tree = git(gitDir, ['rev-parse', 'main^{tree}']);
  const other = git(gitDir, ['commit-tree', '-m', 'other', tree]);
  writeFileSync(join(gitDir, ref), `${other}\n`);

  const kept = `refs/gitplane/lost/${tips[2]}`;
  expect(await replay(gitDir)).toEqual([{ ref, commit: tips[2], kept }]);
  expect(git(gitDir, ['rev-parse', kept])).toBe(tips[2]);
});

test('a push that ends during the repair is found, and stays', async () => {
  const { gitDir, tips } = await written();
  const pushed = foreignCommit(gitDir, { files: { pushed: '1' } });
  writeFileSync(join(gitDir, ref), `${tips[0]}\n`);
  const files: DurableFiles = {
    ...realFiles,
    link: async (from, to) => {
      writeFileSync(join(gitDir, ref), `${pushed}\n`);
      await realFiles.link(from, to);
    },
  };
  expect(await replay(gitDir, files)).toMatchObject([{ branch: 'ahead' }]);
  expect(git(gitDir, ['rev-parse', 'main'])).toBe(pushed);
});

test.each([
  [4, undefined],
  [5, HeadMovedError],
])('the repair follows a branch that moves %i times', async (moves, error) => {
  const { gitDir, tips } = await written();
  const values = [tips[1], tips[0]];
  let moved = 0;
  writeFileSync(join(gitDir, ref), `${tips[0]}\n`);
  const files: DurableFiles = {
    ...realFiles,
    link: async (from, to) => {
      if (moved < moves) writeFileSync(join(gitDir, ref), `${values[moved++ % 2]}\n`);
      await realFiles.link(from, to);
    },
  };
  if (error === undefined) {
    expect(await replay(gitDir, files)).toMatchObject([{ branch: 'behind' }]);
  } else await expect(replay(gitDir, files)).rejects.toBeInstanceOf(error);
  expect([moved, logs(gitDir)[0]]).toEqual([moves, error !== undefined]);
});

test.each([
  ['an error of the disk', Object.assign(new Error('i/o'), { code: 'EIO' }), StorageError],
  ['a fault of the program', new TypeError('undefined is no function'), TypeError],
])('%s ends the repair at once, and the WAL stays', async (_what, failure, type) => {
  const { gitDir, tips } = await written();
  writeFileSync(join(gitDir, ref), `${tips[0]}\n`);
  let attempts = 0;
  const link = (): Promise<never> => {
    attempts++;
    return Promise.reject(failure);
  };
  await expect(replay(gitDir, { ...realFiles, link })).rejects.toBeInstanceOf(type);
  expect([attempts, logs(gitDir)]).toEqual([1, [true, true]]);
});

test('an unknown record ends the replay with its own error', async () => {
  const { gitDir } = await written();
  const [path] = walPaths(gitDir);
  const head = encodeRecord({
    kind: 'head',
    epoch: 1,
    sequence: 0,
    payload: headPayload({ ref, owner: deadOwner }),
  });
  const bad = encodeRecord({
    kind: 'publication',
    epoch: 1,
    sequence: 1,
    payload: [Buffer.from('x')],
  });
  writeFileSync(path, Buffer.concat([head, bad]));
  const failed = await replay(gitDir).catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(GitError);
  expect(failed).not.toBeInstanceOf(StorageError);
});

test('the lock of a dead process is removed, though the branch does not move', async () => {
  const { gitDir } = await written();
  const own = join(gitDir, 'gitplane', `claim-${deadOwner}-0123456789ab`);
  writeFileSync(own, 'x');
  linkSync(own, join(gitDir, `${ref}.lock`));
  expect(await replay(gitDir)).toMatchObject([{ branch: 'there' }]);
  expect([existsSync(own), existsSync(join(gitDir, `${ref}.lock`))]).toEqual([false, false]);
});

test('a lock that git left is removed, though the branch does not move', async () => {
  const { gitDir } = await written();
  const lock = join(gitDir, `${ref}.lock`);
  writeFileSync(lock, '');
  utimesSync(lock, 0, 0);
  await replay(gitDir);
  expect(existsSync(lock)).toBe(false);
});

test.each([
  ['young', 0, [true, true]],
  ['older than half a minute', 40, [false, false]],
])('a WAL of another container that is %s: there are logs %j', async (_what, ageS, left) => {
  const { gitDir } = await written(foreignOwner);
  const then = Date.now() / 1000 - ageS;
  for (const path of walPaths(gitDir)) utimesSync(path, then, then);
  await replayWal(gitDir, { files: realFiles, logger: silent, isOwn: false });
  expect(logs(gitDir)).toEqual(left);
});

test('a repository of several writers without a WAL is left as it is', async () => {
  const { gitDir } = await written();
  for (const path of walPaths(gitDir)) rmSync(path);
  const before = packFiles(gitDir);
  await replayWal(gitDir, { files: realFiles, logger: silent, isOwn: false });
  expect(packFiles(gitDir)).toEqual(before);
});

test('a short-lived pack that becomes permanent is flushed, then named, then removed', async () => {
  const { gitDir, tips } = await written();
  for (const path of walPaths(gitDir)) rmSync(path);
  const files = fragile();

  expect(await replay(gitDir, files)).toEqual([]);

  const first = files.operations.indexOf(`sync pack-gitplane-${tips[0]}.pack`);
  const steps = files.operations.slice(first).filter((step) => !step.includes('multi-pack'));
  const names = (step: string): string => step.replaceAll(/[0-9a-f]{40}/g, '*');
  const one = ['sync', 'sync', 'link', 'link', 'syncDirectory', 'remove', 'remove'];
  expect(steps.map((step) => names(step).split(' ')[0])).toEqual([
    ...[...one, ...one, ...one],
    'syncDirectory',
  ]);
  expect(steps.slice(0, 2).map(names)).toEqual([
    'sync pack-gitplane-*.pack',
    'sync pack-gitplane-*.idx',
  ]);
  expect(permanentPacks(gitDir).length).toBe(3);
  expect(shortLived(gitDir)).toEqual([]);
  expectSound(gitDir);
});

test('a permanent pack of that name is taken for the same, and a damaged one goes', async () => {
  const { gitDir, tips } = await written();
  for (const path of walPaths(gitDir)) rmSync(path);
  const folder = join(gitDir, 'objects/pack');
  const of = (tip = '') => join(folder, `pack-gitplane-${tip}`);
  const checksum = readFileSync(`${of(tips[0])}.pack`)
    .subarray(-20)
    .toString('hex');
  for (const end of ['pack', 'idx']) {
    linkSync(`${of(tips[0])}.${end}`, join(folder, `pack-${checksum}.${end}`));
  }
  rmSync(`${of(tips[2])}.pack`);
  writeFileSync(`${of(tips[2])}.pack`, 'torn');

  await replay(gitDir);

  expect([permanentPacks(gitDir).length, shortLived(gitDir)]).toEqual([2, []]);
});

test('an index over packs that a repack writes meanwhile goes as well', async () => {
  const { gitDir } = await written();
  const index = join(gitDir, 'objects/pack/multi-pack-index');
  writeFileSync(index, 'names short-lived packs');
  let before: boolean | undefined;
  const files: DurableFiles = {
    ...realFiles,
    remove: async (path) => {
      if (path.includes('pack-gitplane-')) {
        before ??= existsSync(index);
        writeFileSync(index, 'again');
      }
      await realFiles.remove(path);
    },
  };
  await replay(gitDir, files);
  expect([before, existsSync(index)]).toEqual([false, false]);
});

test('a file that cannot be removed ends the replay', async () => {
  const { gitDir } = await written();
  const failure = Object.assign(new Error('i/o'), { code: 'EIO' });
  const files: DurableFiles = {
    ...realFiles,
    remove: (path) =>
      path.includes('multi-pack') ? Promise.reject(failure) : realFiles.remove(path),
  };
  await expect(replay(gitDir, files)).rejects.toBeInstanceOf(StorageError);
  expect(readdirSync(join(gitDir, 'gitplane'))).toEqual(expect.arrayContaining(['log-0', 'log-1']));
});
