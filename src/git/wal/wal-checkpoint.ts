/** The checkpoint: writes the content of the WAL as one pack, and flushes the pack and the branch. */
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCode, GitError } from '../git-error.ts';
import { packFolder, packNames } from '../packs/pack-names.ts';
import { buildPack, type PackObject } from '../packs/pack-writer.ts';
import { type DurableFiles, syncRefDirectory, writeDurably } from '../publication/durable-files.ts';
import type { Publication } from '../publication/publisher.ts';
import { decodeWal } from './wal-format.ts';

export interface CheckpointTarget {
  readonly files: DurableFiles;
  readonly gitDir: string;
  readonly ref: string;
  readonly owner: string;
}

/** A WAL segment that is no longer written. */
export interface FullSegment {
  readonly path: string;
  /** Tips of the published batches, oldest first. */
  readonly tips: readonly string[];
}

/** Rejects unless everything was written; the segment must stay then. */
export async function checkpointSegment(
  place: CheckpointTarget,
  { path, tips }: FullSegment,
): Promise<void> {
  if (tips.length === 0) return;
  const log = decodeWal(await readFile(path));
  const found = new Map(log?.publications.map((one) => [one.tip, one]));
  const publications = tips.map((tip) => {
    const publication = found.get(tip);
    if (publication === undefined) {
      throw new GitError(`${path} does not contain commit ${tip}, which was appended to it`, {
        remedy: 'Check the disk',
      });
    }
    return publication;
  });
  await checkpointPublications(place, publications);
}

/** Writes publications as one pack and flushes the pack and the branch to stable storage. */
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

/** Objects newest first, each once: the base of a delta comes before the objects made from it. */
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
    // Another process removed it, or moved it to packed-refs, which git flushes.
    if (errorCode(error) !== 'ENOENT') throw error;
  });
  await syncRefDirectory(files, dirname(ref));
}
