/** Files that a publication finds ready: never in the way, and none left behind. */
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test, vi } from 'vitest';
import { thisOwner } from '../../../src/files/owner.ts';
import { realFiles } from '../../../src/git/publication/durable-files.ts';
import { LocalPackWorker } from '../../../src/git/publication/pack-worker.ts';
import { PreallocatedFiles, type Stock } from '../../../src/git/wal/preallocated-files.ts';
import { temporaryFolder } from '../../support/git.ts';

let gitDir = '';
let refusal: Error | undefined;

beforeEach(() => {
  gitDir = temporaryFolder();
  refusal = undefined;
  mkdirSync(join(gitDir, 'gitplane'));
});

function spareFiles(): PreallocatedFiles {
  const place = { gitDir, files: realFiles, owner: thisOwner };
  const workshop = new LocalPackWorker({ ...place, ref: 'refs/heads/main', lockPatienceMs: 30 });
  const stock = async (of: Stock): Promise<void> => {
    if (refusal !== undefined) throw refusal;
    await workshop.stock(of);
  };
  return new PreallocatedFiles({ ...place, stock });
}

const names = (): string[] => readdirSync(join(gitDir, 'gitplane'));

async function stocked(spares: PreallocatedFiles): Promise<void> {
  await vi.waitFor(() => {
    spares.restock();
    expect(names().length).toBeGreaterThan(20);
  }, 20_000);
}

test('a file holds what it was asked for, ready or not', async () => {
  const spares = spareFiles();
  const before = await spares.filled(Buffer.from('before'));
  await stocked(spares);
  const after = await spares.filled(Buffer.from('after'));

  expect(readFileSync(before, 'utf8')).toBe('before');
  expect(readFileSync(after, 'utf8')).toBe('after');
  spares.drop(before);
  spares.drop(after);
  await spares.settled();
  expect(names()).toEqual([]);
});

test('those that somebody else removed are done without', async () => {
  const spares = spareFiles();
  await stocked(spares);
  for (const name of names()) rmSync(join(gitDir, 'gitplane', name));

  const paths = await Promise.all(
    Array.from({ length: 40 }, (_, i) => spares.filled(Buffer.from(`${i}`))),
  );

  expect(paths.map((path) => readFileSync(path, 'utf8'))).toEqual(paths.map((_, i) => `${i}`));
  expect(new Set(paths).size).toBe(40);
  for (const path of paths) spares.drop(path);
  await spares.settled();
  expect(names()).toEqual([]);
});

test('a disk that refuses leaves nothing to be remembered, and what it keeps goes later', async () => {
  const spares = spareFiles();
  const path = await spares.filled(Buffer.from('x'));
  spares.drop(path);
  refusal = new Error('full');
  for (let i = 0; i < 5; i++) {
    spares.restock();
    await new Promise(setImmediate);
    await new Promise(setImmediate);
  }
  expect(names()).toHaveLength(1);
  refusal = undefined;
  await stocked(spares);
  await vi.waitFor(() => expect(names().join()).not.toContain(path.slice(-12)), 20_000);
  await spares.settled();
  expect(names()).toEqual([]);
});
