/**
 * Acknowledged means durable where publications go by way of a log: at every operation, whatever a
 * loss of power leaves of what was not flushed. What git sees before the crash may be gone then; what
 * was acknowledged is there after the next start, and nothing that was refused.
 */
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { thisOwner } from '../../../src/files/owner.ts';
import type { BareRepository } from '../../../src/git/bare-repository.ts';
import { StorageError } from '../../../src/git/git-error.ts';
import { initRepository } from '../../../src/git/init-repository.ts';
import { silent } from '../../../src/git/logger.ts';
import { openRepository } from '../../../src/git/open-repository.ts';
import { packsOfMultiPackIndex } from '../../../src/git/packs/multi-pack-index.ts';
import { isShortLived } from '../../../src/git/packs/pack-names.ts';
import { type DurableFiles, realFiles } from '../../../src/git/publication/durable-files.ts';
import { WalPublisher } from '../../../src/git/wal/wal-publisher.ts';
import { replayWal } from '../../../src/git/wal/wal-replay.ts';
import { Crash, FragileFiles, type Remains } from '../../support/fragile-files.ts';
import {
  commitOf,
  expectSound,
  filesOf,
  foreignCommit,
  git,
  openForTest,
  packFiles,
  publish,
  temporaryFolder,
} from '../../support/git.ts';

/** Room for the head and four small groups. */
const LOG_BYTES = 20 * 1024;
const deadOwner = thisOwner.replace(/-\d+-\d+$/, '-4194305-1');
const lockTimeoutMs = 30;
/** Step between the interrupted operations; `npm run fuzz` interrupts every one. */
const STRIDE = process.env['GITPLANE_TEST_RUNS'] === undefined ? 12 : 6;

interface Scene {
  readonly gitDir: string;
  readonly files: FragileFiles;
  readonly repository: BareRepository;
}

let template = '';

beforeAll(async () => {
  template = mkdtempSync(join(tmpdir(), 'gitplane-template-'));
  await initRepository({ gitDir: template, branch: 'main' });
  const repository = await openRepository({ gitDir: template, branch: 'main' });
  // Wide enough for versions of `a` to go to the WAL as deltas.
  const others = Array.from({ length: 40 }, (_, i) => [`a/file-${i}`, '0']);
  const files = { ...Object.fromEntries(others), 'a/b': '0', 'a/c': '0', d: '0' };
  await publish(repository, commitOf(files));
  await repository.close();
});

afterAll(() => rmSync(template, { recursive: true, force: true }));

async function scene(owner = deadOwner): Promise<Scene> {
  const folder = temporaryFolder();
  const gitDir = join(folder, 'repo.git');
  cpSync(template, gitDir, { recursive: true });
  const files = new FragileFiles(folder);
  onTestFinished(() => files.release());
  const options = { gitDir, files, owner, lockTimeoutMs, segmentBytes: LOG_BYTES };
  return { gitDir, files, repository: await openForTest(options) };
}

/** While the third is written, the log is more than half full and brought to git. */
async function work({ repository }: Scene, acknowledged: string[]): Promise<void> {
  const group = async (name: string): Promise<void> => {
    const batch = repository.begin(await repository.head());
    await batch.add(commitOf({ 'a/b': name, [`new/${name}`]: name }));
    const { id } = await batch.add(commitOf({ [`other/${name}`]: name }));
    await batch.publish();
    acknowledged.push(id);
  };
  for (const name of ['1', '2', '3']) await group(name);
}

function isCrash(error: unknown): boolean {
  return error instanceof Crash || (error instanceof Error && isCrash(error.cause));
}

/** Commits acknowledged before. */
async function crashAt(one: Scene, at: number): Promise<readonly string[]> {
  const acknowledged: string[] = [];
  one.files.inject({ kind: 'crash', at, when: 'after' });
  await work(one, acknowledged).catch((error: unknown) => {
    if (!isCrash(error)) throw error;
  });
  await one.repository.close().catch(() => undefined);
  return acknowledged;
}

/** Older than git ever holds a lock. */
function ageLock(gitDir: string): void {
  const lock = join(gitDir, 'refs/heads/main.lock');
  if (existsSync(lock)) utimesSync(lock, 0, 0);
}

/** Starts again: everything acknowledged is there, git finds no fault, and writing goes on. */
async function expectRecovered(gitDir: string, acknowledged: readonly string[]): Promise<string> {
  ageLock(gitDir);
  const repository = await openRepository({
    gitDir,
    branch: 'main',
    lockTimeoutMs,
    segmentBytes: LOG_BYTES,
  });
  try {
    const head = (await repository.head()) ?? '';
    expectSound(gitDir);
    const reachable = git(gitDir, ['rev-list', 'main']).split('\n');
    expect(acknowledged.filter((id) => !reachable.includes(id))).toEqual([]);
    expect(packFiles(gitDir).filter((name) => name.startsWith('pack-gitplane-'))).toEqual([]);
    const [next] = await publish(repository, commitOf({ 'a/b': 'after' }));
    expect(git(gitDir, ['rev-parse', 'main'])).toBe(next);
    return head;
  } finally {
    await repository.close();
    expect(readdirSync(join(gitDir, 'gitplane'))).toEqual([]);
    expect(existsSync(join(gitDir, 'refs/heads/main.lock'))).toBe(false);
    expectSound(gitDir);
  }
}

type Loss = readonly [title: string, loses: (directory: string) => boolean, remains: Remains];

const losses: readonly (Loss | readonly ['the process dies'])[] = [
  ['the process dies'],
  ['the power fails', () => true, 'nothing'],
  ['the power fails, names were written', () => false, 'nothing'],
  ['the power fails, names were written and content is garbage', () => false, 'garbage'],
  ['the power fails, the branch is older', (name) => name.endsWith('heads'), 'all'],
  ['the power fails, packs are older', (name) => name.endsWith('pack'), 'garbage'],
];

async function countOperations(): Promise<number> {
  const one = await scene();
  const before = one.files.operations.length;
  await work(one, []);
  await one.repository.close();
  return one.files.operations.length - before;
}

describe.each(losses)('%s', (title, loses?: Loss[1], remains?: Remains) => {
  const offset = (losses.findIndex(([name]) => name === title) * STRIDE) / losses.length;

  test('a crash at an operation of a publication loses no acknowledged write', async () => {
    const count = await countOperations();
    expect(count).toBeGreaterThan(40);
    for (let at = offset; at < count; at += STRIDE) {
      const one = await scene();
      const acknowledged = await crashAt(one, at);
      if (loses !== undefined) one.files.losePower(loses, remains);
      await expectRecovered(one.gitDir, acknowledged).catch((error: unknown) => {
        throw new Error(`after ${one.files.operations.at(-1)}`, { cause: error });
      });
    }
  });

  test('a crash after the answer, and again during the replay of the WAL, loses no write', async () => {
    const replaying = async (crash: number | undefined): Promise<number> => {
      const one = await scene();
      const acknowledged: string[] = [];
      await work(one, acknowledged);
      one.files.losePower(loses ?? (() => false), loses === undefined ? 'all' : remains);
      const again = new FragileFiles(temporaryFolder());
      onTestFinished(() => again.release());
      if (crash !== undefined) again.inject({ kind: 'crash', at: crash, when: 'after' });
      const options = { files: again, logger: silent, isOwn: true };
      ageLock(one.gitDir);
      await replayWal(one.gitDir, options).catch((error: unknown) => {
        if (!isCrash(error)) throw error;
      });
      if (crash !== undefined && loses !== undefined) again.losePower(loses, remains);
      expect(await expectRecovered(one.gitDir, acknowledged)).toBe(acknowledged.at(-1));
      return again.operations.length;
    };
    const count = await replaying(undefined);
    expect(count).toBeGreaterThan(8);
    for (let at = offset; at < count; at += STRIDE) await replaying(at);
  });
});

describe('a disk that refuses', () => {
  test.each(['ENOSPC', 'EIO'])('%s: a refused write is missing after a crash', async (code) => {
    const count = await countOperations();
    for (let at = code === 'EIO' ? 0 : 3; at < count; at += STRIDE) {
      const one = await scene();
      const acknowledged: string[] = [];
      one.files.inject({ kind: 'error', at, code, lasting: false });
      const error = await work(one, acknowledged).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      const head = await one.repository.head();
      if (error !== undefined) expect(error).toBeInstanceOf(StorageError);
      expectSound(one.gitDir);
      one.files.losePower(() => false, 'garbage');
      const found = await expectRecovered(one.gitDir, acknowledged);
      // Unless it was said to be possible.
      if ((error as StorageError | undefined)?.moved !== true) expect(found).toBe(head);
    }
  });

  test('a write that succeeds after a refused one is durable', async () => {
    const one = await scene();
    one.files.inject({ kind: 'error', at: 0, code: 'ENOSPC', lasting: true });
    await expect(work(one, [])).rejects.toBeInstanceOf(StorageError);
    one.files.repair();
    const acknowledged: string[] = [];
    await work(one, acknowledged);
    one.files.losePower(() => true, 'garbage');
    expect(await expectRecovered(one.gitDir, acknowledged)).toBe(acknowledged.at(-1));
  });
});

describe('a branch that another process moved before the crash', () => {
  async function acknowledgedAndMoved(
    move: (gitDir: string) => void,
  ): Promise<Scene & { acknowledged: readonly string[] }> {
    const one = await scene();
    const acknowledged: string[] = [];
    await work(one, acknowledged);
    move(one.gitDir);
    one.files.losePower(() => false, 'garbage');
    return { ...one, acknowledged };
  }

  /** State of the branch in the log line of the replay. */
  async function branchTold(gitDir: string): Promise<unknown> {
    const told: object[] = [];
    const logger = { debug: () => undefined, warn: (fields: object) => void told.push(fields) };
    await replayWal(gitDir, { files: realFiles, logger, isOwn: true });
    expect(told.length).toBe(1);
    return (told[0] as { branch?: unknown }).branch;
  }

  test('a branch that moved on from the newest write stays where it is', async () => {
    let pushed = '';
    const { gitDir, acknowledged } = await acknowledgedAndMoved((place) => {
      pushed = foreignCommit(place, { files: { pushed: '1' } });
      git(place, ['update-ref', 'refs/heads/main', pushed]);
    });

    expect(await branchTold(gitDir)).toBe('ahead');
    expect(await expectRecovered(gitDir, acknowledged)).toBe(pushed);
  });

  test('a branch that moved elsewhere stays there, and another ref keeps the writes', async () => {
    let other = '';
    const { gitDir, acknowledged } = await acknowledgedAndMoved((place) => {
      const tree = git(place, ['rev-parse', 'main^{tree}']);
      other = git(place, ['commit-tree', '-m', 'another history', tree]);
      git(place, ['update-ref', 'refs/heads/main', other]);
    });

    expect(await expectRecovered(gitDir, [])).toBe(other);
    const tip = acknowledged.at(-1) ?? '';
    expect(git(gitDir, ['rev-parse', `refs/gitplane/lost/${tip}`])).toBe(tip);
  });

  test.each([
    ['gone', (path: string) => rmSync(path)],
    ['empty', (path: string) => writeFileSync(path, '')],
    ['garbage', (path: string) => writeFileSync(path, '\0'.repeat(41))],
    ['at a commit that is not there', (path: string) => writeFileSync(path, `${'1'.repeat(40)}\n`)],
  ])('a branch that moved and is %s is repaired', async (_how, damage) => {
    const { gitDir, acknowledged } = await acknowledgedAndMoved((place) =>
      damage(join(place, 'refs/heads/main')),
    );

    expect(await branchTold(gitDir)).toBe('damaged');
    expect(await expectRecovered(gitDir, acknowledged)).toBe(acknowledged.at(-1));
  });
});

test('more writes than fit in the WAL are durable', async () => {
  const one = await scene();
  const acknowledged: string[] = [];
  for (let i = 0; i < 12; i++) {
    // Some larger than the whole log, and all of them together many times.
    const size = i % 5 === 4 ? 2 * LOG_BYTES : LOG_BYTES / 2;
    const content = `${i} `.repeat(size / 2);
    acknowledged.push(...(await publish(one.repository, commitOf({ [`f${i}`]: content }))));
  }
  one.files.losePower(() => false, 'garbage');
  expect(await expectRecovered(one.gitDir, acknowledged)).toBe(acknowledged.at(-1));
});

describe('a short-lived pack without a WAL, in a copy of a repository', () => {
  /** As after a copy without the folder of the daemon. */
  async function copied(): Promise<{ gitDir: string; tip: string }> {
    const one = await scene();
    const [tip = ''] = await publish(one.repository, commitOf({ d: '1' }));
    for (const name of ['log-0', 'log-1']) rmSync(join(one.gitDir, 'gitplane', name));
    return { gitDir: one.gitDir, tip };
  }

  test('becomes permanent', async () => {
    const { gitDir, tip } = await copied();

    await replayWal(gitDir, { files: realFiles, logger: silent, isOwn: true });

    expect(packFiles(gitDir).some((name) => isShortLived(name))).toBe(false);
    expect(git(gitDir, ['rev-parse', `${tip}^{tree}`])).toMatch(/^[0-9a-f]{40}$/);
  });

  test('a short-lived pack that `git repack` replaces meanwhile causes no failure', async () => {
    const { gitDir, tip } = await copied();
    const replaced: DurableFiles = {
      ...realFiles,
      syncFile: async (path) => {
        git(gitDir, ['repack', '-adq']);
        await realFiles.syncFile(path);
      },
    };

    await replayWal(gitDir, { files: replaced, logger: silent, isOwn: true });

    expect(packFiles(gitDir).some((name) => isShortLived(name))).toBe(false);
    expect(git(gitDir, ['rev-parse', `${tip}^{tree}`])).toMatch(/^[0-9a-f]{40}$/);
  });

  test('a short-lived pack that the disk cannot flush ends the replay, and stays', async () => {
    const { gitDir, tip } = await copied();
    const failure = Object.assign(new Error('i/o error'), { code: 'EIO' });
    const broken = { ...realFiles, syncFile: () => Promise.reject(failure) };

    const replayed = replayWal(gitDir, { files: broken, logger: silent, isOwn: true });

    await expect(replayed).rejects.toBeInstanceOf(StorageError);
    expect(packFiles(gitDir)).toContain(`pack-gitplane-${tip}.pack`);
  });
});

test('the WAL of a live process is not replayed', async () => {
  const one = await scene(thisOwner);
  const [id = ''] = await publish(one.repository, commitOf({ d: '1' }));
  const before = packFiles(one.gitDir);

  await replayWal(one.gitDir, { files: realFiles, logger: silent, isOwn: false });

  expect(packFiles(one.gitDir)).toEqual(before);
  expect(before).toContain(`pack-gitplane-${id}.pack`);
});

test('the WAL of a dead process is replayed by a process that shares the repository', async () => {
  const { gitDir, repository } = await scene();
  const [id = ''] = await publish(repository, commitOf({ d: '1' }));
  ageLock(gitDir);

  await replayWal(gitDir, { files: realFiles, logger: silent, isOwn: false });

  expect(readdirSync(join(gitDir, 'gitplane')).filter((name) => name.startsWith('log-'))).toEqual(
    [],
  );
  expect(packFiles(gitDir).some((name) => isShortLived(name))).toBe(false);
  expect(git(gitDir, ['rev-parse', 'main'])).toBe(id);
});

test('an empty WAL is not removed by other processes', async () => {
  const { gitDir, repository } = await scene('0123456789ab-7-7');
  const [id = ''] = await publish(repository, commitOf({ d: '1' }));
  const folder = join(gitDir, 'gitplane');
  // Saves: what only the log held is in a pack now.
  await repository.maintain();
  const saved = readdirSync(folder).sort();
  for (const name of ['log-0', 'log-1']) utimesSync(join(folder, name), 1, 1);
  const asOther = { files: realFiles, logger: silent, isOwn: false };

  await replayWal(gitDir, asOther);

  expect(readdirSync(folder).sort()).toEqual(saved);
  expect(saved).toEqual(expect.arrayContaining(['log-0', 'log-1']));
  expect(await repository.head()).toBe(id);

  await repository.close();
  // Of a daemon that is about to make its log.
  for (const name of ['log-0', 'log-1']) writeFileSync(join(folder, name), Buffer.alloc(LOG_BYTES));
  await replayWal(gitDir, asOther);
  expect(readdirSync(folder).sort()).toEqual(['log-0', 'log-1']);
});

test('an index over many packs that is damaged names none', async () => {
  const folder = temporaryFolder();
  const index = Buffer.alloc(60);
  index.write('MIDX');
  index.writeUInt8(1, 6);
  index.write('PNAM', 12);
  for (const [start, end] of [
    [100n, 1n],
    [0n, 2n ** 63n],
  ] as const) {
    index.writeBigUInt64BE(start, 16);
    index.writeBigUInt64BE(end, 28);
    writeFileSync(join(folder, 'multi-pack-index'), index);
    expect(await packsOfMultiPackIndex(folder)).toEqual(new Set());
  }
});

test('git can clone, pack and check between a write and the time it is brought to its place', async () => {
  const { gitDir, repository } = await scene(thisOwner);
  await publish(repository, commitOf({ 'a/b': '1' }));
  git(gitDir, ['repack', '-d', '-q', '--geometric=2', '--write-midx']);
  await publish(repository, commitOf({ 'a/b': '2' }));
  git(gitDir, ['multi-pack-index', 'write']);
  expectSound(gitDir);
  await repository.maintain();
  await publish(repository, commitOf({ 'a/b': '3' }));
  await repository.close();

  git(gitDir, ['multi-pack-index', 'verify']);
  expectSound(gitDir);
  expect(filesOf(gitDir, 'main')).toMatchObject({ 'a/b': '3' });
});

test.each(['--local', '--no-local'])(
  'a clone %s has every write, though not the log',
  async (how) => {
    const one = await scene(thisOwner);
    const acknowledged: string[] = [];
    await work(one, acknowledged);
    const gitDir = join(temporaryFolder(), 'clone.git');
    git(one.gitDir, ['clone', '-q', '--mirror', how, one.gitDir, gitDir]);
    if (how === '--local') expect(packFiles(gitDir).some((name) => isShortLived(name))).toBe(true);

    const clone = await openForTest({ gitDir, segmentBytes: LOG_BYTES });

    expect(await clone.head()).toBe(acknowledged.at(-1));
    expectSound(gitDir);
    expect(packFiles(gitDir).some((name) => isShortLived(name))).toBe(false);
    await clone.close();
    await one.repository.close();
  },
);

test('publications that are asked for at once take effect in their order', async () => {
  const { gitDir, repository } = await scene(thisOwner);
  let tip = await repository.head();
  const ends: string[] = [];
  const all: Promise<unknown>[] = [];
  for (let i = 0; i < 6; i++) {
    const batch = repository.begin(tip);
    await batch.add(commitOf({ [`f${i}`]: `${i}` }));
    tip = batch.tip;
    const id = tip ?? '';
    all.push(batch.publish().then(() => void ends.push(id)));
  }
  await Promise.all(all);
  const history = git(gitDir, ['rev-list', '--reverse', 'main']).split('\n');
  expect(history.slice(1)).toEqual(ends);
  expectSound(gitDir);
});

test('publishing works if no WAL can be created', async () => {
  const folder = temporaryFolder();
  const gitDir = join(folder, 'repo.git');
  cpSync(template, gitDir, { recursive: true });
  const files = new FragileFiles(folder, { kind: 'error', at: 1, code: 'ENOSPC', lasting: false });
  onTestFinished(() => files.release());
  const ref = 'refs/heads/main';
  const options = { files, owner: deadOwner, lockTimeoutMs, segmentBytes: LOG_BYTES };
  const publisher = new WalPublisher({ gitDir, ref }, options);
  await publisher.opened();
  expect(readdirSync(join(gitDir, 'gitplane'))).toEqual([]);
  await publisher.close();
});
