/** The two WAL segments: size, capacity, failed writes, and switching. */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { StorageError } from '../../../src/git/git-error.ts';
import { type DurableFiles, realFiles } from '../../../src/git/publication/durable-files.ts';
import type { Publication } from '../../../src/git/publication/publisher.ts';
import { WalFile, walPaths } from '../../../src/git/wal/wal-file.ts';
import { decodeWal } from '../../../src/git/wal/wal-format.ts';
import { FragileFiles } from '../../support/fragile-files.ts';
import { temporaryFolder } from '../../support/git.ts';

const BLOCK = 4096;
/** The head and three groups of a block each. */
const BYTES = 4 * BLOCK;
const ref = 'refs/heads/main';

let gitDir = '';
let files: FragileFiles;

beforeEach(() => {
  gitDir = temporaryFolder();
  mkdirSync(join(gitDir, 'gitplane'));
  files = new FragileFiles(gitDir);
  onTestFinished(() => files.release());
});

const create = (bytes = BYTES, by: DurableFiles = files): Promise<WalFile> =>
  WalFile.create({ files: by, gitDir, ref, owner: 'me', bytes });

function group(n: number, length = 10): Publication {
  const data = Buffer.alloc(length, `${n}`);
  const blob = { id: 'b'.repeat(40), type: 'blob', data, base: undefined } as const;
  return { parent: undefined, tip: String(n).repeat(40), objects: [blob] };
}

function append(log: WalFile, publication: Publication): Promise<number> {
  const record = log.record(publication);
  if (record === undefined) throw new Error('no room');
  return log.append(record);
}

/** The groups that a start would find in each file, by the first digit of their tips. */
function found(): string[] {
  const logs = walPaths(gitDir).map((path) => decodeWal(readFileSync(path)));
  return logs.map((log) => log?.publications.map(({ tip }) => tip[0]).join('') ?? 'no log');
}

const epochs = (): (number | undefined)[] =>
  walPaths(gitDir).map((path) => decodeWal(readFileSync(path))?.epoch);

test.each([
  ['less than what is written at once', 5 * BLOCK + 7],
  ['as much', 1024 * 1024],
  ['more', 2 * 1024 * 1024 + 3],
])('both files have their size from the start, in zeros, of %s', async (_what, bytes) => {
  const log = await create(bytes, realFiles);

  for (const path of walPaths(gitDir)) {
    const content = readFileSync(path);
    expect(content.length).toBe(bytes);
    expect(content.subarray(BLOCK).every((byte) => byte === 0)).toBe(true);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  }
  await log.close();
});

test('size and names of both files are flushed before the first record is written', async () => {
  await create();

  const flushed = ['create', 'write', 'sync'];
  expect(files.operations).toEqual([
    ...flushed.map((operation) => `${operation} log-0`),
    ...flushed.map((operation) => `${operation} log-1`),
    ...['syncDirectory gitplane', 'open log-0', 'open log-1'],
    ...['write log-0', 'sync log-0', 'write log-1', 'sync log-1'],
  ]);
});

test('both files are closed with the WAL', async () => {
  const closed: string[] = [];
  const by: DurableFiles = {
    ...realFiles,
    open: async (path) => {
      const file = await realFiles.open(path);
      const close = async (): Promise<void> => {
        closed.push(path);
        await file.close();
      };
      return { writeAt: (bytes, position) => file.writeAt(bytes, position), close };
    },
  };
  const log = await create(BYTES, by);
  await log.close();

  expect(closed).toEqual(walPaths(gitDir));
});

test('a file that exists is not written to, and the one beside it not left behind', async () => {
  const [first, second] = walPaths(gitDir);
  writeFileSync(second, 'of another');

  await expect(create()).rejects.toMatchObject({ code: 'EEXIST' });

  expect(readFileSync(second, 'utf8')).toBe('of another');
  expect(readdirSync(join(gitDir, 'gitplane'))).toEqual(['log-1']);
  expect(first).toContain('log-0');
});

test.each([2, 6, 7, 9])('no file is left behind where operation %i fails', async (at) => {
  files.inject({ kind: 'error', at, code: 'ENOSPC', lasting: false });
  await expect(create()).rejects.toMatchObject({ code: 'ENOSPC' });
  expect(readdirSync(join(gitDir, 'gitplane'))).toEqual([]);
});

test('a segment accepts records up to its last byte', async () => {
  const log = await create();
  expect(log.used).toBe(BLOCK);
  expect(log.record(group(1, 2.5 * BLOCK))?.length).toBe(3 * BLOCK);
  expect(log.record(group(1, 3 * BLOCK))).toBeUndefined();

  expect(await append(log, group(1))).toBe(1);
  expect(await append(log, group(2))).toBe(2);
  expect(log.record(group(3, BLOCK))).toBeUndefined();
  expect(await append(log, group(3))).toBe(3);

  expect(log.used).toBe(BYTES);
  expect(log.record(group(4))).toBeUndefined();
  expect(log.isBroken).toBe(false);
  expect(found()).toEqual(['123', '']);
  for (const path of walPaths(gitDir)) expect(statSync(path).size).toBe(BYTES);
});

test('records that are begun before the last one ended come behind it', async () => {
  const log = await create();
  expect(await Promise.all([append(log, group(1)), append(log, group(2))])).toEqual([1, 2]);
  expect(found()).toEqual(['12', '']);
});

test('a failed write blocks the segment until the other one is active', async () => {
  const log = await create();
  await append(log, group(1));
  files.inject({ kind: 'error', at: 0, code: 'EIO', lasting: false });
  const operations = files.operations.length;
  await expect(append(log, group(2))).rejects.toMatchObject({ code: 'EIO' });
  expect(files.operations.length).toBe(operations + 1);

  expect(log.isBroken).toBe(true);
  expect(log.record(group(3))).toBeUndefined();
  await expect(log.cancel(1)).rejects.toBeInstanceOf(StorageError);
  expect(files.operations.length).toBe(operations + 1);

  expect(log.switchSegment()).toBe(true);
  expect(log.isBroken).toBe(false);
  expect(await append(log, group(3))).toBe(1);
  expect(found()).toEqual(['1', '3']);
  await log.release();
  expect(found()).toEqual(['', '3']);
});

test('a canceled batch is skipped, and later ones are found', async () => {
  const log = await create();
  const number = await append(log, group(1));
  await log.cancel(number);
  await append(log, group(2));
  expect(found()).toEqual(['2', '']);
});

test.each([
  ['no room at all', BYTES],
  ['less room than its record takes', BYTES + BLOCK / 2],
])('a log with %s refuses to call off, and does not grow', async (_what, bytes) => {
  const log = await create(bytes);
  for (const n of [1, 2, 3]) await append(log, group(n));

  const refused = await log.cancel(3).catch((error: unknown) => error);

  expect(refused).toBeInstanceOf(StorageError);
  expect((refused as StorageError).cause).toMatchObject({ code: 'ENOSPC' });
  expect(found()).toEqual(['123', '']);
  expect(statSync(walPaths(gitDir)[0]).size).toBe(bytes);
});

test('a cancellation fits in the last free block', async () => {
  const log = await create();
  for (const n of [1, 2]) await append(log, group(n));
  expect(log.used).toBe(BYTES - BLOCK);
  await log.cancel(2);
  expect([log.used, found()]).toEqual([BYTES, ['1', '']]);
});

test('a switch is refused while the other segment is needed', async () => {
  const log = await create();
  expect([log.inactive, log.isInactiveUsed]).toEqual([1, false]);
  await append(log, group(1));

  expect(log.switchSegment()).toBe(true);
  expect([log.inactive, log.isInactiveUsed, log.used]).toEqual([0, true, BLOCK]);
  await append(log, group(2));
  expect(log.switchSegment()).toBe(false);
  expect([log.inactive, log.isInactiveUsed]).toEqual([0, true]);
  expect(found()).toEqual(['1', '2']);

  await log.release();
  expect(log.isInactiveUsed).toBe(false);
  expect(found()).toEqual(['', '2']);
  expect(log.switchSegment()).toBe(true);
  await append(log, group(3));
  expect(found()).toEqual(['3', '2']);
});

test('a restarted segment has a later epoch than all before', async () => {
  const log = await create();
  expect(epochs()).toEqual([1, 2]);
  log.switchSegment();
  await log.release();
  expect(epochs()).toEqual([3, 2]);
  log.switchSegment();
  await log.release();
  expect(epochs()).toEqual([3, 4]);
});

test('a file whose release fails is not turned to', async () => {
  const log = await create();
  await append(log, group(1));
  log.switchSegment();
  files.inject({ kind: 'error', at: 0, code: 'EIO', lasting: false });

  await expect(log.release()).rejects.toMatchObject({ code: 'EIO' });

  expect(log.isInactiveUsed).toBe(true);
  expect(log.switchSegment()).toBe(false);
  expect(found()).toEqual(['1', '']);
});

test('remove deletes both segments', async () => {
  const log = await create();
  await log.remove();
  expect(readdirSync(join(gitDir, 'gitplane'))).toEqual([]);
  expect(files.operations.slice(-3)).toEqual([
    'remove log-0',
    'remove log-1',
    'syncDirectory gitplane',
  ]);
});

test('close keeps the segments and closes their files', async () => {
  const closed: string[] = [];
  const counting: DurableFiles = {
    ...realFiles,
    open: async (path) => {
      const { writeAt, close } = await realFiles.open(path);
      const counted = (): Promise<void> => {
        closed.push(path);
        return close();
      };
      return { writeAt, close: counted };
    },
  };
  const log = await create(BYTES, counting);
  await append(log, group(1));
  await log.close();
  expect(closed).toEqual(walPaths(gitDir));
  expect(found()).toEqual(['1', '']);
});
