/** Files that a fetch leaves when it fails: the part of a pack that has arrived, up to gigabytes. */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Names of such files in a repository. */
export async function temporaryPacks(gitDir: string): Promise<ReadonlySet<string>> {
  const names = await readdir(join(gitDir, 'objects', 'pack')).catch(() => []);
  return new Set(names.filter((name) => /^tmp_(?:pack|idx|rev)_/.test(name)));
}

/**
 * Removes those that were not there `before`. A fetch of another branch that began meanwhile may lose
 * its file: it fails, and is repeated. Never rejects.
 */
export async function removeTemporaryPacks(
  gitDir: string,
  before: ReadonlySet<string>,
): Promise<void> {
  for (const name of await temporaryPacks(gitDir)) {
    if (before.has(name)) continue;
    await rm(join(gitDir, 'objects', 'pack', name), { force: true }).catch(() => undefined);
  }
}
