/**
 * What git leaves when it is killed: the objects of a push in quarantine, packs that were not
 * finished. They harm nobody and take room, and git removes them only when it prunes, which is never
 * done here.
 */
import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { packFolder } from '../packs/pack-names.ts';
import { isWorkedOn } from '../refs/stale-lock.ts';

/** Longer than a push or a repack goes without making a file. */
const GRACE_MS = 60 * 60_000;

/** Removes what is old, while no git process is at work that could have made it. Never rejects. */
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
