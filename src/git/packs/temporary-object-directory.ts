/**
 * An object directory for a pack that is on disk and not yet part of the repository. Git can send it to
 * a remote before the repository shows it.
 */
import { randomBytes } from 'node:crypto';
import { link, mkdir, readdir, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { REF_LOCK_FOLDER } from '../refs/ref-lock.ts';
import type { PackNames } from './pack-names.ts';

const PREFIX = 'outgoing-';

/** Runs `work` with the object directory, and removes it afterwards. */
export async function withTemporaryObjectDirectory(
  gitDir: string,
  names: PackNames,
  work: (objects: string) => Promise<void>,
): Promise<void> {
  const objects = join(gitDir, REF_LOCK_FOLDER, `${PREFIX}${randomBytes(6).toString('hex')}`);
  const folder = join(objects, 'pack');
  try {
    await mkdir(folder, { recursive: true });
    await link(names.newPack, join(folder, basename(names.pack)));
    await link(names.newIndex, join(folder, basename(names.index)));
    await work(objects);
  } finally {
    await rm(objects, { recursive: true, force: true }).catch(() => undefined);
  }
}

/** Removes directories of crashed processes. Call while no other process works on the repository. */
export async function removeAbandonedObjectDirectories(gitDir: string): Promise<void> {
  const folder = join(gitDir, REF_LOCK_FOLDER);
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    if (name.startsWith(PREFIX)) await rm(join(folder, name), { recursive: true, force: true });
  }
}
