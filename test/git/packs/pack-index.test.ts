/** The index of a pack, held against git. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PackIndex } from '../../../src/git/packs/pack-index.ts';
import { commitOf, git, openForTest, publish } from '../../support/git.ts';

/** An index that git wrote, and the offset of each object by `git show-index`. */
async function indexOfGit(): Promise<{ bytes: Buffer; offsets: ReadonlyMap<string, number> }> {
  const repository = await openForTest();
  const files = Array.from({ length: 300 }, (_, i) => [`${i}.txt`, `text ${i}`] as const);
  await publish(repository, commitOf(Object.fromEntries(files)));
  await repository.close();
  git(repository.gitDir, ['repack', '-adq']);
  const folder = join(repository.gitDir, 'objects/pack');
  const name = readdirSync(folder).find((one) => one.endsWith('.idx')) ?? '';
  const bytes = readFileSync(join(folder, name));
  const lines = git(repository.gitDir, ['show-index'], { input: bytes }).split('\n');
  const offsets = new Map(
    lines.map((line) => [line.split(' ')[1] ?? '', Number(line.split(' ')[0])]),
  );
  return { bytes, offsets };
}

test('ids and offsets are those of git', async () => {
  const { bytes, offsets } = await indexOfGit();
  const index = PackIndex.parse(bytes);
  expect(offsets.size).toBeGreaterThan(300);
  for (const [id, offset] of offsets) expect(index?.offsetOf(id)).toBe(offset);
  for (const id of ['0'.repeat(40), 'f'.repeat(40)]) {
    expect([index?.has(id), index?.offsetOf(id)]).toEqual([false, undefined]);
  }
});

test('bytes that are not a whole index are none', async () => {
  const { bytes, offsets } = await indexOfGit();
  const isCounted = Buffer.from(bytes);
  isCounted.writeUInt32BE(0xffffffff, 8 + 255 * 4);
  const older = bytes.subarray(8);
  const cut = bytes.subarray(0, 8 + 256 * 4 + 28 * offsets.size - 1);
  for (const broken of [Buffer.alloc(0), bytes.subarray(0, 100), older, cut, isCounted]) {
    expect(PackIndex.parse(broken)).toBeUndefined();
  }
});
