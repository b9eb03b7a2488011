/**
 * Removes files of killed git processes: quarantines of pushes, and unfinished packs. They use disk
 * space, and git removes them only when it prunes, which gitplane never does.
 */
import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { packFolder } from '../packs/pack-names.ts';
import { isWorkedOn } from '../refs/stale-lock.ts';

/** Longer than a push or a repack runs without creating a file. */
const GRACE_MS = 60 * 60_000;

/** Removes old files while no git process runs that could have made them. Never rejects. */
export async function removeGitLeftovers(gitDir: string): Promise<void> {
  const found = [
    ...(await named(join(gitDir, 'objects'), /^(tmp_objdir-)?incoming-/)),
    ...(await named(packFolder(gitDir), /^(\.tmp-\d+-pack-|tmp_(pack|idx|rev|midx|bitmap)_)/)),
  ];
  for (const path of found) {
    const { mtimeMs = Number.POSITIVE_INFINITY } = (await lstat(path).catch(() => undefined)) ?? {};
    if (Date.now() - mtimeMs < GRACE_MS || (await isWorkedOn(gitDir, mtimeMs)) === true) continue;
    await rm(path, { recursive: true, force: true }).catch(() => undefined);
  }
}

async function named(folder: string, pattern: RegExp): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return names.filter((name) => pattern.test(name)).map((name) => join(folder, name));
}
