/** Checkpoints one by one: which pack goes on in the next one, and the files that are flushed and removed. */
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { thisOwner } from '../../../src/files/owner.ts';
import { GitError } from '../../../src/git/git-error.ts';
import { treeDelta } from '../../../src/git/objects/delta.ts';
import { objectId } from '../../../src/git/objects/object-id.ts';
import type { PackObject } from '../../../src/git/packs/pack-writer.ts';
import type { Publication } from '../../../src/git/publication/publisher.ts';
import { Checkpoints } from '../../../src/git/wal/wal-checkpoint.ts';
import {
  encodeRecord,
  headPayload,
  publicationKind,
  publicationPayload,
} from '../../../src/git/wal/wal-format.ts';
import { FragileFiles } from '../../support/fragile-files.ts';
import { bareRepository, git, packFiles, temporaryFolder } from '../../support/git.ts';

const KIB = 1024;
const ref = 'refs/heads/main';
/** A pack without its header and its checksum. */
const AROUND = 12 + 20;

let gitDir = '';
let files: FragileFiles;
let checkpoints: Checkpoints;
let made = 0;

beforeEach(async () => {
  gitDir = await bareRepository();
  files = new FragileFiles(temporaryFolder());
  checkpoints = new Checkpoints({ files, gitDir, ref, owner: thisOwner });
  onTestFinished(async () => {
    await checkpoints.close();
    files.release();
  });
});

afterEach(() => void vi.useRealTimers());

function publication(...objects: PackObject[]): Publication {
  made += 1;
  return { parent: undefined, tip: String(made).padStart(40, '0'), objects };
}

/** Of any content that does not compress, unless it is long. */
function blob(length: number): PackObject {
  const data =
    length > KIB * KIB
      ? Buffer.alloc(length)
      : createHash('shake256', { outputLength: length }).update(`${made}`).digest();
  return { id: `b${String(made).padStart(39, '0')}`, type: 'blob', data, base: undefined };
}

const TREE = 'a'.repeat(40);
const tree: PackObject = { id: TREE, type: 'tree', data: Buffer.from('tree'), base: undefined };

function size(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...size(value >>> 7)];
}

/** A version of the tree that its delta says to have that many bytes. */
function version(bytes: number): PackObject {
  const data = Buffer.from([...size(4), ...size(bytes)]);
  return { id: 'c'.repeat(40), type: 'tree', data, base: TREE };
}

const packs = (): string[] => packFiles(gitDir).filter((name) => name.endsWith('.pack'));
const withdrawn = (): string[] => packFiles(gitDir).filter((name) => name.startsWith('tmp_'));
const steps = (): string[] =>
  files.operations.map((one) => one.replaceAll(/[0-9a-f]{40}[-\w]*/g, '*'));

/** Writes a pack with the tree, and returns the bytes that its successor takes over. */
async function writeFirst(length = 1000): Promise<number> {
  await checkpoints.write([publication(tree, blob(length))]);
  return statSync(join(gitDir, 'objects/pack', packs()[0] ?? '')).size - AROUND;
}

/** Writes a second pack; true if it continues the first one. */
async function continues(objects: readonly PackObject[]): Promise<boolean> {
  const second = publication(...objects);
  try {
    await checkpoints.write([second]);
  } catch (error) {
    // Alone in its pack, `version` would have to be what it says.
    if (error instanceof GitError && error.message.includes(`from tree ${TREE}`)) return false;
    throw error;
  }
  await checkpoints.removeReplaced([second.tip]);
  return packs().length === 1;
}

test.each([
  { what: 'small', first: 500, bytes: 512 * KIB, saved: 0, expected: true },
  { what: 'not small', first: 500, bytes: 512 * KIB + 1, saved: 0, expected: false },
  { what: 'growing by a third', first: 600, bytes: 800 * KIB, saved: 0, expected: true },
  { what: 'growing by a fifth', first: 600, bytes: 720 * KIB, saved: 0, expected: false },
  { what: 'saving a quarter', first: 900, bytes: KIB * KIB, saved: 256 * KIB, expected: true },
  { what: 'saving less', first: 900, bytes: KIB * KIB, saved: 256 * KIB - 1, expected: false },
  {
    what: 'as large as a pack may be',
    first: 1,
    bytes: 32 * KIB * KIB,
    saved: 16 * KIB * KIB,
    expected: true,
  },
  {
    what: 'larger than a pack may be',
    first: 1,
    bytes: 32 * KIB * KIB + 1,
    saved: 16 * KIB * KIB,
    expected: false,
  },
])(
  'a pack that is $what: $bytes bytes, $saved of them saved: $expected',
  async ({ first, bytes, saved, expected }) => {
    const before = await writeFirst(first * KIB);
    const next = version(saved);
    expect(await continues([next, blob(bytes - before - next.data.length)])).toBe(expected);
  },
);

/** A tree that is only in the repository, and a version of it. */
function versionInRepository(): PackObject {
  const older = Buffer.concat(
    Array.from({ length: 5000 }, (_, i) => entry(`f${String(i).padStart(6, '0')}`)),
  );
  const newer = Buffer.concat([older, entry('z')]);
  const base = git(gitDir, ['hash-object', '-t', 'tree', '-w', '--stdin', '--literally'], {
    input: older,
  });
  const data = treeDelta(older, newer, [
    { start: older.length, end: older.length, inserted: newer.length - older.length },
  ]);
  return { id: objectId('tree', newer), type: 'tree', data, base };
}

test('a delta against a tree of another pack saves nothing', async () => {
  const changed = versionInRepository();
  await writeFirst(500 * KIB);

  expect(await continues([changed, blob(100 * KIB)])).toBe(false);

  expect(git(gitDir, ['cat-file', '-t', changed.id])).toBe('tree');
  await checkpoints.close();
});

const processes = (): number =>
  process.getActiveResourcesInfo().filter((one) => one === 'ProcessWrap').length;

const processesEnd = (): Promise<void> =>
  vi.waitFor(() => expect(processes()).toBe(0), { timeout: 10_000 });

test.each<[string, () => Promise<void>]>([
  ['with the checkpoints', () => checkpoints.close()],
  [
    'when other processes rewrite packs',
    () => checkpoints.checkpoint({ path: join(gitDir, 'nowhere'), tips: [], startsPack: true }),
  ],
])('the process that reads trees ends %s', async (_when, end) => {
  await processesEnd();
  await checkpoints.write([publication(versionInRepository())]);
  expect(processes()).toBe(1);
  await end();
  await processesEnd();
});

function entry(name: string): Buffer {
  return Buffer.concat([Buffer.from(`100644 ${name}\0`), Buffer.alloc(20, 1)]);
}

test('every file is flushed before it gets its name, and the branch last', async () => {
  writeFileSync(join(gitDir, ref), `${'1'.repeat(40)}\n`);
  await checkpoints.write([publication(tree)]);
  expect(steps().slice(0, 6).sort()).toEqual(
    [
      'create tmp_gitplane-*_idx',
      'create tmp_gitplane-*_pack',
      'sync tmp_gitplane-*_idx',
      'sync tmp_gitplane-*_pack',
      'write tmp_gitplane-*_idx',
      'write tmp_gitplane-*_pack',
    ].map((step) => step.replace('*_idx', '*').replace('*_pack', '*')),
  );
  expect(steps().slice(6)).toEqual([
    'rename pack-*.pack',
    'rename pack-*.idx',
    'syncDirectory pack',
    'sync main',
    'syncDirectory heads',
  ]);
});

test('a branch in packed-refs has no file to flush, and one that cannot be flushed fails', async () => {
  await expect(checkpoints.write([publication(tree)])).resolves.toBeUndefined();
  writeFileSync(join(gitDir, ref), 'x');
  files.inject({ kind: 'error', at: 9, code: 'EIO', lasting: false });
  await expect(checkpoints.write([publication(blob(10))])).rejects.toMatchObject({ code: 'EIO' });
  expect(files.operations.at(-1)).toBe('sync main');
});

test('a checkpoint without new objects leaves the pack as it is', async () => {
  const first = publication(tree, blob(100));
  await checkpoints.write([first]);
  const before = packs();
  const again = { ...first, tip: publication().tip };
  await checkpoints.write([again]);
  await checkpoints.removeReplaced([again.tip]);
  expect([packs(), withdrawn()]).toEqual([before, []]);
});

test.each<[string, (pack: string) => void]>([
  ['another process removed', (pack) => rmSync(pack)],
  ['is cut off', (pack) => writeFileSync(pack, readFileSync(pack).subarray(0, -1))],
  [
    'has another byte',
    (pack) => {
      const bytes = readFileSync(pack);
      bytes.writeUInt8(bytes.readUInt8(40) ^ 1, 40);
      writeFileSync(pack, bytes);
    },
  ],
])('a pack that %s is not continued, and stays as it is', async (_what, change) => {
  await writeFirst();
  const [first = ''] = packs();
  const path = join(gitDir, 'objects/pack', first);
  chmodSync(path, 0o644);
  change(path);
  const before = existsSync(path) ? readFileSync(path) : undefined;

  const second = publication(blob(10));
  await checkpoints.write([second]);
  await checkpoints.removeReplaced([second.tip]);

  const others = packs().filter((name) => name !== first);
  expect(others).toHaveLength(1);
  git(gitDir, ['index-pack', '--strict', join(gitDir, 'objects/pack', others[0] ?? '')]);
  expect(existsSync(path) ? readFileSync(path) : undefined).toEqual(before);
});

test('a pack is withdrawn once', async () => {
  await writeFirst();
  const second = publication(blob(10));
  await checkpoints.write([second]);
  await checkpoints.removeReplaced([second.tip]);
  const count = files.operations.filter((one) => one.startsWith('create tmp_')).length;
  await checkpoints.removeReplaced([second.tip]);
  expect(files.operations.filter((one) => one.startsWith('create tmp_'))).toHaveLength(count);
});

test('the empty files of a withdrawn pack stay for ten seconds', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] });
  await writeFirst();
  const withdrawnAt = async (ms: number): Promise<string[]> => {
    vi.advanceTimersByTime(ms);
    const before = withdrawn();
    expect(await continues([blob(10)])).toBe(true);
    return withdrawn().filter((name) => !before.includes(name));
  };
  const first = await withdrawnAt(0);
  const second = await withdrawnAt(1);
  const third = await withdrawnAt(5_000);
  expect([first.length, second.length, third.length]).toEqual([2, 2, 2]);
  const marker = (name: string): number => statSync(join(gitDir, 'objects/pack', name)).size;
  expect([...first, ...second, ...third].map(marker)).toEqual([0, 0, 0, 0, 0, 0]);

  vi.advanceTimersByTime(4_999);
  await new Promise(setImmediate);
  expect(withdrawn()).toHaveLength(6);
  vi.advanceTimersByTime(1);
  await vi.waitFor(() => expect(withdrawn()).toEqual(third));
  await checkpoints.close();
  expect(withdrawn()).toEqual([]);
  for (const name of [...first, ...second, ...third]) {
    expect(files.operations.filter((one) => one === `remove ${name}`)).toHaveLength(1);
  }
});

test('withdrawn packs go at the end', async () => {
  await writeFirst();
  expect(await continues([blob(10)])).toBe(true);
  expect(withdrawn()).toHaveLength(2);
  await checkpoints.close();
  expect(withdrawn()).toEqual([]);
});

/** A WAL segment with these publications. */
function segment(...publications: readonly Publication[]): string {
  const path = join(gitDir, 'segment');
  const payload = headPayload({ ref, owner: thisOwner });
  const records = publications.map((one, i) =>
    encodeRecord({
      kind: publicationKind(one),
      epoch: 1,
      sequence: i + 1,
      payload: publicationPayload(one),
    }),
  );
  const head = encodeRecord({ kind: 'head', epoch: 1, sequence: 0, payload });
  writeFileSync(path, Buffer.concat([head, ...records]));
  return path;
}

function ids(): string[] {
  return packs().flatMap((name) => {
    const shown = git(gitDir, ['show-index'], {
      input: readPackIndex(name),
    });
    return shown.split('\n').map((line) => line.split(' ')[1] ?? '');
  });
}

function readPackIndex(name: string): Buffer {
  return readFileSync(join(gitDir, 'objects/pack', name.replace(/pack$/, 'idx')));
}

test('a checkpoint has the batches that were published, and no other of the segment', async () => {
  const [one, two, three] = [publication(blob(10)), publication(blob(20)), publication(blob(30))];
  const path = segment(one, two, three);
  await checkpoints.checkpoint({ path, tips: [one.tip, three.tip] });
  expect(ids().sort()).toEqual([one, three].map(({ objects }) => objects[0]?.id).sort());
});

test('a segment without published batches is not read', async () => {
  await checkpoints.checkpoint({ path: join(gitDir, 'nowhere'), tips: [] });
  expect([packs(), files.operations]).toEqual([[], []]);
});

test('a batch that the segment has lost fails the checkpoint', async () => {
  const path = segment(publication(blob(10)));
  const lost = checkpoints.checkpoint({ path, tips: ['f'.repeat(40)] });
  await expect(lost).rejects.toBeInstanceOf(GitError);
  await expect(lost).rejects.toThrow(`does not contain commit ${'f'.repeat(40)}`);
  expect(packs()).toEqual([]);
});

test.each([
  [undefined, 1],
  [false, 1],
  [true, 2],
])('the next pack is a new one if other processes rewrite packs: %s', async (startsPack, count) => {
  await writeFirst();
  const next = publication(blob(10));
  const start = startsPack === undefined ? {} : { startsPack };
  await checkpoints.checkpoint({ path: segment(next), tips: [next.tip], ...start });
  await checkpoints.removeReplaced([next.tip]);
  expect(packs()).toHaveLength(count);
});
