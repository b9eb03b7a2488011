/** Files that a publication finds ready: never in the way, and none left behind. */
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test, vi } from 'vitest';
import { thisOwner } from '../../../src/files/owner.ts';
import { realFiles } from '../../../src/git/publication/durable-files.ts';
import { LocalPackWorker } from '../../../src/git/publication/pack-worker.ts';
import { PreallocatedFiles, type Preallocation } from '../../../src/git/wal/preallocated-files.ts';
import { temporaryFolder } from '../../support/git.ts';

let gitDir = '';
let refusal: Error | undefined;

beforeEach(() => {
  gitDir = temporaryFolder();
  refusal = undefined;
  mkdirSync(join(gitDir, 'gitplane'));
});

function preallocatedFiles(): PreallocatedFiles {
  const place = { gitDir, files: realFiles, owner: thisOwner };
  const packWorker = new LocalPackWorker({ ...place, ref: 'refs/heads/main', lockTimeoutMs: 30 });
  const preallocate = async (of: Preallocation): Promise<void> => {
    if (refusal !== undefined) throw refusal;
    await packWorker.preallocate(of);
  };
  return new PreallocatedFiles({ ...place, preallocate });
}

const names = (): string[] => readdirSync(join(gitDir, 'gitplane'));

async function stocked(preallocated: PreallocatedFiles): Promise<void> {
  await vi.waitFor(() => {
    preallocated.refill();
    expect(names().length).toBeGreaterThan(20);
  }, 20_000);
}

test('a written file has its content, preallocated or not', async () => {
  const preallocated = preallocatedFiles();
  const before = await preallocated.write(Buffer.from('before'));
  await stocked(preallocated);
  const after = await preallocated.write(Buffer.from('after'));

  expect(readFileSync(before, 'utf8')).toBe('before');
  expect(readFileSync(after, 'utf8')).toBe('after');
  preallocated.discard(before);
  preallocated.discard(after);
  await preallocated.close();
  expect(names()).toEqual([]);
});

test('files that another process removed are replaced', async () => {
  const preallocated = preallocatedFiles();
  await stocked(preallocated);
  for (const name of names()) rmSync(join(gitDir, 'gitplane', name));

  const paths = await Promise.all(
    Array.from({ length: 40 }, (_, i) => preallocated.write(Buffer.from(`${i}`))),
  );

  expect(paths.map((path) => readFileSync(path, 'utf8'))).toEqual(paths.map((_, i) => `${i}`));
  expect(new Set(paths).size).toBe(40);
  for (const path of paths) preallocated.discard(path);
  await preallocated.close();
  expect(names()).toEqual([]);
});

test('existing files are removed, and missing ones forgotten, after a disk error', async () => {
  const preallocated = preallocatedFiles();
  const path = await preallocated.write(Buffer.from('x'));
  preallocated.discard(path);
  refusal = new Error('full');
  for (let i = 0; i < 5; i++) {
    preallocated.refill();
    await new Promise(setImmediate);
    await new Promise(setImmediate);
  }
  expect(names()).toHaveLength(1);
  refusal = undefined;
  await stocked(preallocated);
  await vi.waitFor(() => expect(names().join()).not.toContain(path.slice(-12)), 20_000);
  await preallocated.close();
  expect(names()).toEqual([]);
});
