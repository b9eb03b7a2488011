/**
 * Packs by which git sees a group of commits at once: another pack soon replaces them, so nothing in
 * them is compressed and nothing is flushed. What a loss of power leaves of them is the log's to mend.
 */

import { errorCode } from '../git-error.ts';
import { type DurableFiles, writeSoon } from '../publication/durable-files.ts';
import type { Publication } from '../publication/publisher.ts';
import type { PreallocatedFiles } from '../wal/preallocated-files.ts';
import { packsOfMultiPackIndex } from './multi-pack-index.ts';
import { packFolder, shortLivedNames } from './pack-names.ts';
import { buildPack } from './pack-writer.ts';

export interface PackPlace {
  readonly files: DurableFiles;
  readonly gitDir: string;
  readonly owner: string;
}

/** Git sees the objects when this resolves. Where it rejects, a part may be there. */
export async function writeShortLived(place: PackPlace, publication: Publication): Promise<void> {
  const { files, gitDir, owner } = place;
  const { pack, index } = buildPack(publication.objects, 'stored');
  const names = shortLivedNames(gitDir, publication.tip, owner);
  const write = (): Promise<void> => writeSoon(files, names.pack, { bytes: pack, mode: 0o444 });
  await write().catch(async (error: unknown) => {
    if (errorCode(error) !== 'EEXIST') throw error;
    // Of an attempt that failed.
    await removeShortLived(place, publication.tip);
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

/** The same by way of files that are there already. */
export async function writeShortLivedFrom(
  spares: PreallocatedFiles,
  place: PackPlace,
  publication: Publication,
): Promise<void> {
  const { pack, index } = buildPack(publication.objects, 'stored');
  const names = shortLivedNames(place.gitDir, publication.tip, place.owner);
  const put = async (bytes: Buffer, name: string): Promise<void> => {
    const file = await spares.filled(bytes);
    try {
      await place.files.rename(file, name);
    } catch (error) {
      spares.drop(file);
      throw error;
    }
    spares.gone(file);
  };
  try {
    await put(pack, names.pack);
    await put(index, names.index);
  } catch (error) {
    if (errorCode(error) !== 'EXDEV') throw error;
    // Packs are on another disk than the rest.
    await writeShortLived(place, publication);
  }
}

/** The pack of the group that ends with `tip`, or a part of it. Never rejects. */
export async function removeShortLived(
  { files, gitDir, owner }: PackPlace,
  tip: string,
): Promise<void> {
  const { pack, index } = shortLivedNames(gitDir, tip, owner);
  await files.remove(index).catch(() => undefined);
  await files.remove(pack).catch(() => undefined);
}

/** Those that another pack has replaced, unless an index over many packs names them. */
export async function removeReplaced(place: PackPlace, tips: readonly string[]): Promise<void> {
  const named = await packsOfMultiPackIndex(packFolder(place.gitDir));
  for (const tip of tips) {
    if (!named.has(`pack-gitplane-${tip}`)) await removeShortLived(place, tip);
  }
}
