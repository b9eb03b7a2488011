/** The schedule of checkpoints, and the content of the WAL until then. */
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import type { PackWorker } from '../../../src/git/publication/pack-worker.ts';
import type { FullSegment } from '../../../src/git/wal/wal-checkpoint.ts';
import { WalKeeper } from '../../../src/git/wal/wal-keeper.ts';
import { FragileFiles } from '../../support/fragile-files.ts';
import { temporaryFolder } from '../../support/git.ts';

const BLOCK = 4096;

let gitDir = '';
let files: FragileFiles;
let saved: FullSegment[] = [];
let removed: (readonly string[])[] = [];
let refusal: Error | undefined;

beforeEach(() => {
  gitDir = temporaryFolder();
  mkdirSync(join(gitDir, 'gitplane'));
  files = new FragileFiles(gitDir);
  saved = [];
  removed = [];
  refusal = undefined;
  onTestFinished(() => files.release());
});

afterEach(() => void vi.useRealTimers());

const packWorker: Pick<PackWorker, 'checkpoint' | 'removeReplaced'> = {
  checkpoint: async (log) => {
    if (refusal !== undefined) throw refusal;
    saved.push(log);
  },
  removeReplaced: async (tips) => void removed.push(tips),
};

async function keeper(segmentBytes = 64 * BLOCK, graceMs = 0): Promise<WalKeeper> {
  const opened = new WalKeeper({
    ...{ gitDir, ref: 'refs/heads/main', owner: 'me', files, segmentBytes, graceMs },
    packWorker: packWorker as PackWorker,
    betweenPublications: async (work) => work(),
  });
  await opened.open();
  return opened;
}

async function add(to: WalKeeper, name: string, length = 10): Promise<void> {
  const data = Buffer.alloc(length);
  const objects = [{ id: 'b'.repeat(40), type: 'blob', data, base: undefined }] as const;
  const record = to.wal?.record({ parent: undefined, tip: name, objects });
  if (record === undefined) throw new Error('no room');
  to.willAppend(name);
  await to.wal?.append(record);
}

const tipsSaved = (): string[] => saved.map(({ tips }) => tips.join(' '));
const logs = (): string[] => readdirSync(join(gitDir, 'gitplane'));

test('a disk with room for few logs has none', async () => {
  const none = await keeper(2 ** 50);
  expect(none.wal).toBeUndefined();
  expect(await none.checkpoint()).toBe(true);
  await none.close();
  expect(saved).toEqual([]);
});

test('a disk that refuses has no log, and keeps no remains', async () => {
  files.inject({ kind: 'error', at: 4, code: 'ENOSPC', lasting: false });
  expect((await keeper()).wal).toBeUndefined();
  expect(logs()).toEqual([]);
});

test('a checkpoint contains the published batches of the segment that was active', async () => {
  const one = await keeper();
  for (const name of ['a', 'b', 'c']) await add(one, name);
  one.notPublished('b');
  expect(await one.checkpoint()).toBe(true);
  expect(tipsSaved()).toEqual(['a c']);
  expect(saved[0]?.path).toMatch(/log-0$/);
  expect(removed).toEqual([['a', 'c']]);
  expect(one.wal?.isInactiveUsed).toBe(false);

  await add(one, 'd');
  await one.checkpoint();
  expect(tipsSaved()).toEqual(['a c', 'd']);
  expect(saved[1]?.path).toMatch(/log-1$/);
  await one.close();
});

test('an empty WAL has no checkpoint', async () => {
  const one = await keeper();
  const operations = files.operations.length;
  expect(await one.checkpoint()).toBe(true);
  expect([saved, files.operations.length]).toEqual([[], operations]);
  expect(one.wal?.inactive).toBe(1);
  await one.close();
});

test('a broken segment is switched, even if it is empty', async () => {
  const one = await keeper();
  files.inject({ kind: 'error', at: 0, code: 'EIO', lasting: false });
  await expect(add(one, 'a')).rejects.toMatchObject({ code: 'EIO' });
  one.notPublished('a');
  expect(one.wal?.isBroken).toBe(true);
  expect(await one.checkpoint()).toBe(true);
  expect(one.wal?.isBroken).toBe(false);
  expect(one.wal?.inactive).toBe(0);
  await one.close();
});

test('saves that are asked for at once are one', async () => {
  const one = await keeper();
  await add(one, 'a');
  await Promise.all([one.checkpoint(), one.checkpoint()]);
  expect(tipsSaved()).toEqual(['a']);
  await one.close();
});

test('a failed checkpoint leaves the batches in the WAL and is retried after two seconds', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const one = await keeper();
  await add(one, 'a');
  refusal = new Error('full');
  expect(await one.checkpoint()).toBe(false);
  await add(one, 'b');
  expect(await one.checkpoint()).toBe(false);
  expect(one.wal?.isInactiveUsed).toBe(true);
  expect(removed).toEqual([]);

  refusal = undefined;
  vi.advanceTimersByTime(1_999);
  expect(saved).toEqual([]);
  vi.advanceTimersByTime(1);
  await vi.waitFor(() => expect(tipsSaved()).toEqual(['a']));
  await vi.waitFor(() => expect(one.wal?.isInactiveUsed).toBe(false));
  await one.close();
  expect(tipsSaved()).toEqual(['a', 'b']);
  expect(logs()).toEqual([]);
});

test('close leaves a WAL that could not be checkpointed', async () => {
  const one = await keeper();
  await add(one, 'a');
  refusal = new Error('full');
  await one.close();
  expect(one.wal).toBeUndefined();
  expect(logs()).toEqual(['log-0', 'log-1']);
});

test('the keeper checkpoints one batch after a second, and once', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const one = await keeper();
  await add(one, 'a');
  one.checkpointWhenDue();
  one.checkpointWhenDue();
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(999);
  await add(one, 'b');
  one.checkpointWhenDue();
  expect(saved).toEqual([]);
  vi.advanceTimersByTime(1);
  await vi.waitFor(() => expect(tipsSaved()).toEqual(['a b']));
  expect(vi.getTimerCount()).toBe(0);
  await one.close();
});

test('a save that is asked for now does not wait for the one that is due later', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const one = await keeper();
  await add(one, 'a');
  one.checkpointSoon(1_000);
  one.checkpointSoon(0);
  vi.advanceTimersByTime(0);
  await vi.waitFor(() => expect(tipsSaved()).toEqual(['a']));
  await one.close();
});

test.each([
  ['more than half a log', 32, 1, 1],
  ['half a log', 31, 1, 0],
  ['sixty-four groups', 1, 64, 1],
  ['sixty-three groups', 1, 63, 0],
])('%s: %i blocks in each of %i groups', async (_what, blocks, groups, saves) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const one = await keeper(groups === 1 ? 64 * BLOCK : 256 * BLOCK);
  for (let n = 0; n < groups; n++) await add(one, `${n}`, (blocks - 0.5) * BLOCK);
  one.checkpointWhenDue();
  expect(vi.getTimerCount()).toBe(1 - saves);
  await one.checkpoint();
  expect(saved.length).toBe(1);
  await one.close();
});

test('packs stay while all packs are looked at, and go with the next save', async () => {
  const one = await keeper();
  await add(one, 'a');
  await one.holdPacks(async () => {
    expect([tipsSaved(), removed]).toEqual([['a'], []]);
    await add(one, 'b');
    await one.checkpoint();
    expect(removed).toEqual([]);
  });
  await add(one, 'c');
  await one.checkpoint();
  expect(removed).toEqual([['a', 'b', 'c']]);
  await add(one, 'd');
  await one.checkpoint();
  expect(removed.at(-1)).toEqual(['d']);
  await one.close();
});

test('a pack that is replaced stays for scans that listed it, and goes without further writes', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const one = await keeper(64 * BLOCK, 1_500);
  await add(one, 'a');
  await one.checkpoint();
  expect([tipsSaved(), removed]).toEqual([['a'], []]);
  vi.advanceTimersByTime(1_000);
  await add(one, 'b');
  await one.checkpoint();
  expect(removed).toEqual([]);
  vi.advanceTimersByTime(1_000);
  await vi.waitFor(() => expect(removed).toEqual([['a']]));
  vi.advanceTimersByTime(1_000);
  await vi.waitFor(() => expect(removed).toEqual([['a'], ['b']]));
  expect(vi.getTimerCount()).toBe(0);
  await add(one, 'c');
  await one.close();
  expect(removed.at(-1)).toEqual(['c']);
});

test('work on all packs that fails lets packs go again', async () => {
  const one = await keeper();
  await expect(one.holdPacks(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  await add(one, 'a');
  await one.checkpoint();
  expect(removed).toEqual([['a']]);
  await one.close();
});
