/** What a write log holds is brought to where git keeps it: one pack, and the branch, both flushed. */
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCode, GitError } from '../git-error.ts';
import { packFolder, packNames } from '../packs/pack-names.ts';
import { buildPack, type PackObject } from '../packs/pack-writer.ts';
import { type DurableFiles, syncRefDirectory, writeDurably } from '../publication/durable-files.ts';
import type { Publication } from '../publication/publisher.ts';
import { decodeLog } from './wal-format.ts';

export interface CheckpointTarget {
  readonly files: DurableFiles;
  readonly gitDir: string;
  readonly ref: string;
  readonly owner: string;
}

/** A file of the log that nothing is added to. */
export interface FullLog {
  readonly path: string;
  /** Of the groups that were published, oldest first. */
  readonly tips: readonly string[];
}

/** Rejects, and the log has to stay, unless all of it is saved. */
export async function checkpointLog(
  place: CheckpointTarget,
  { path, tips }: FullLog,
): Promise<void> {
  if (tips.length === 0) return;
  const log = decodeLog(await readFile(path));
  const found = new Map(log?.publications.map((one) => [one.tip, one]));
  const publications = tips.map((tip) => {
    const publication = found.get(tip);
    if (publication === undefined) {
      throw new GitError(`${path} does not hold ${tip}, which it was given`, {
        remedy: 'Check the disk',
      });
    }
    return publication;
  });
  await checkpointPublications(place, publications);
}

/** Publications as one pack, and the branch as it is, on stable storage. */
export async function checkpointPublications(
  { files, gitDir, ref, owner }: CheckpointTarget,
  publications: readonly Publication[],
): Promise<void> {
  const pack = buildPack(objectsOf(publications));
  const names = packNames(gitDir, pack.checksum, owner);
  await Promise.all([
    writeDurably(files, names.newPack, { bytes: pack.pack, mode: 0o444 }),
    writeDurably(files, names.newIndex, { bytes: pack.index, mode: 0o444 }),
  ]);
  await files.rename(names.newPack, names.pack);
  await files.rename(names.newIndex, names.index);
  await files.syncDirectory(packFolder(gitDir));
  await syncRef(files, join(gitDir, ref));
}

/** Newest first, as in each of them, and once each: a base comes before what was made from it. */
function objectsOf(publications: readonly Publication[]): PackObject[] {
  const objects = new Map<string, PackObject>();
  for (const publication of publications.toReversed()) {
    for (const object of publication.objects) {
      if (!objects.has(object.id)) objects.set(object.id, object);
    }
  }
  return [...objects.values()];
}

async function syncRef(files: DurableFiles, ref: string): Promise<void> {
  await files.syncFile(ref).catch((error: unknown) => {
    // Somebody else removed it, or moved it to packed-refs, which git flushes.
    if (errorCode(error) !== 'ENOENT') throw error;
  });
  await syncRefDirectory(files, dirname(ref));
}
