/** Full maintenance on a disk that has no room for a copy of all packs. */
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { initRepository } from '../../../src/git/init-repository.ts';
import { openRepository } from '../../../src/git/open-repository.ts';
import { commitOf, expectSound, packFiles, publish } from '../../support/git.ts';
import { DISKS_MISSING, mountDisk } from '../../support/small-disk.ts';

const title =
  'full maintenance leaves a disk alone that has too little room, and says what it needs';

test.skipIf(DISKS_MISSING !== undefined)(
  DISKS_MISSING === undefined ? title : `${title} (SKIPPED: ${DISKS_MISSING})`,
  async () => {
    const folder = join(tmpdir(), `gitplane-room-${process.pid}-disk`);
    const disk = mountDisk(folder, 64);
    try {
      const gitDir = join(folder, 'repo.git');
      await initRepository({ gitDir, branch: 'main' });
      const packThreshold = Number.POSITIVE_INFINITY;
      const repository = await openRepository({ gitDir, branch: 'main', packThreshold });
      for (let i = 0; i < 3; i++) await publish(repository, commitOf({ a: `${i}` }));
      const packs = packFiles(gitDir);

      const running = repository.maintainFully(new AbortController().signal);

      await expect(running).rejects.toThrow(/A copy of all packs of .* needs 257 MiB of free disk/);
      expect(packFiles(gitDir)).toEqual(packs);
      expectSound(gitDir);
      await repository.close();
    } finally {
      disk.unmount();
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
