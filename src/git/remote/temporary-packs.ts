/** Files that a fetch leaves when it fails: the part of a pack that has arrived, up to gigabytes. */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isPacking } from '../process/git-process.ts';

/**
 * Removes them, unless one may be of a process that runs: a repack, another fetch, or the import of a pack.
 * The next failed fetch or the full maintenance removes them then. Never rejects.
 */
export async function removeTemporaryPacks(gitDir: string): Promise<void> {
  const folder = join(gitDir, 'objects', 'pack');
  const names = await readdir(folder).catch(() => []);
  // The maker of each file in the list runs now, or has ended.
  if (isPacking(gitDir)) return;
  for (const name of names.filter((one) => /^tmp_(?:pack|idx|rev)_/.test(one))) {
    await rm(join(folder, name), { force: true }).catch(() => undefined);
  }
}
