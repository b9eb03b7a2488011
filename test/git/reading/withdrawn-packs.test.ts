/** Packs that a later checkpoint continues are not taken for lost ones. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { packFileChanges, packFiles } from '../../../src/git/reading/object-check.ts';
import {
  commitOf,
  expectSound,
  packFiles as namesOf,
  openForTest,
  publish,
} from '../../support/git.ts';

test('a continued pack is not gone, and a lost one is', async () => {
  const repository = await openForTest({ segmentBytes: 1024 * 1024, graceMs: 0 });
  const { gitDir } = repository;
  let before = await packFiles(gitDir);
  let withdrawn = 0;
  for (let i = 0; i < 200; i += 1) {
    await publish(repository, commitOf({ [`a/f${i}`]: `${i}` }));
    const now = await packFiles(gitDir);
    expect(packFileChanges(before, now)).toMatchObject({ gone: false, inPlace: false });
    withdrawn += [...now.values()].filter((stamp) => stamp === 'withdrawn').length;
    before = now;
  }
  expect(withdrawn).toBeGreaterThan(0);
  // A checkpoint in the background may remove a pack while fsck reads it; damage stays.
  await vi.waitFor(() => expectSound(gitDir), 30_000);
  await repository.close();
  expect(namesOf(gitDir).filter((name) => name.startsWith('tmp_'))).toEqual([]);

  before = await packFiles(gitDir);
  const [lost = ''] = namesOf(gitDir).filter((name) => name.endsWith('.pack'));
  rmSync(join(gitDir, 'objects/pack', lost));
  expect(packFileChanges(before, await packFiles(gitDir))).toMatchObject({ gone: true });
});
