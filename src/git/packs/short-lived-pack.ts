/**
 * Short-lived packs make a batch of commits visible to git at once. A checkpoint soon replaces them, so
 * they are neither compressed nor flushed. After a power failure, the WAL replay repairs them.
 */

import { basename } from 'node:path';
import { errorCode } from '../git-error.ts';
import { type DurableFiles, writeSoon } from '../publication/durable-files.ts';
import type { Publication } from '../publication/publisher.ts';
import type { PreallocatedFiles } from '../wal/preallocated-files.ts';
import { packsOfMultiPackIndex } from './multi-pack-index.ts';
import { type PackNames, packFolder, shortLivedNames } from './pack-names.ts';
import { buildPack } from './pack-writer.ts';

export interface PackTarget {
  readonly files: DurableFiles;
  readonly gitDir: string;
  readonly owner: string;
}

/** Resolves when git sees the objects. A rejection may leave a partial pack. */
export async function writeShortLived(target: PackTarget, publication: Publication): Promise<void> {
  const { files, gitDir, owner } = target;
  const { pack, index } = buildPack(publication.objects, 'stored');
  const names = shortLivedNames(gitDir, publication.tip, owner);
  const write = (): Promise<void> => writeSoon(files, names.pack, { bytes: pack, mode: 0o444 });
  await write().catch(async (error: unknown) => {
    if (errorCode(error) !== 'EEXIST') throw error;
    // A failed attempt left it.
    await removeShortLived(target, publication.tip);
    await write();
  });
  try {
    await writeSoon(files, names.newIndex, { bytes: index, mode: 0o444 });
    await files.rename(names.newIndex, names.index);
  } catch (error) {
    await files.remove(names.newIndex).catch(() => undefined);
    throw error;
  }
}

/** Like `writeShortLived`, with preallocated files. */
export async function writeShortLivedFrom(
  preallocated: PreallocatedFiles,
  target: PackTarget,
  publication: Publication,
): Promise<void> {
  const { pack, index } = buildPack(publication.objects, 'stored');
  const names = shortLivedNames(target.gitDir, publication.tip, target.owner);
  const put = async (bytes: Buffer, name: string): Promise<void> => {
    const file = await preallocated.write(bytes);
    try {
      await target.files.rename(file, name);
    } catch (error) {
      preallocated.discard(file);
      throw error;
    }
    preallocated.renamed(file);
  };
  try {
    await put(pack, names.pack);
    await put(index, names.index);
  } catch (error) {
    if (errorCode(error) !== 'EXDEV') throw error;
    // The pack folder is on another file system.
    await writeShortLived(target, publication);
  }
}

/** Removes the pack of the batch with this tip, even a partial one. Never rejects. */
export async function removeShortLived(
  { files, gitDir, owner }: PackTarget,
  tip: string,
): Promise<void> {
  const { pack, index } = shortLivedNames(gitDir, tip, owner);
  await files.remove(index).catch(() => undefined);
  await files.remove(pack).catch(() => undefined);
}

/** Removes short-lived packs after a checkpoint, unless a multi-pack-index names them. */
export async function removeReplaced(target: PackTarget, tips: readonly string[]): Promise<void> {
  const named = await packsOfMultiPackIndex(packFolder(target.gitDir));
  for (const tip of tips) {
    if (!named.has(`pack-gitplane-${tip}`)) await removeShortLived(target, tip);
  }
}

/**
 * Removes packs that a later one continues, likewise. Each leaves empty files under the names that its
 * files had while they were written, which tell `packFiles` that it is not lost. Returns these names.
 */
export async function withdrawContinued(
  { files, gitDir }: PackTarget,
  continued: readonly PackNames[],
): Promise<string[]> {
  if (continued.length === 0) return [];
  const named = await packsOfMultiPackIndex(packFolder(gitDir));
  const withdrawn: string[] = [];
  for (const { pack, index, newPack, newIndex } of continued) {
    if (named.has(basename(pack, '.pack'))) continue;
    // The index goes first: git looks for indexes.
    await replace(index, newIndex);
    await replace(pack, newPack);
    withdrawn.push(newIndex, newPack);
  }
  return withdrawn;

  async function replace(file: string, marker: string): Promise<void> {
    try {
      const empty = await files.create(marker, 0o444);
      await empty.close();
      await files.remove(file);
    } catch {
      // A full disk has no room for a name more.
      await files.rename(file, marker).catch(() => undefined);
    }
  }
}
