/**
 * Makes a group of commits durable and moves the branch to the last of them. The order is the
 * contract:
 *
 * 1. pack, index and the new value of the ref are written under names git does not look at, each
 *    with an fsync, side by side;
 * 2. the ref is locked and compared: from here on nobody else moves it;
 * 3. the pack gets its name, then the index (git sees a pack once its index is there), and the
 *    directory is synced: the objects are durable before anything points to them;
 * 4. the ref is renamed into place and its directory is synced.
 *
 * Where a gate stands before the branch (a remote that has to have the commits first), it is asked
 * between 1 and 2.
 *
 * A crash before 4 leaves at most unreachable objects and files of ours, removed at the next start.
 */
import { existsSync } from 'node:fs';
import { readdir, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCode, GitError, RefLockedError, StorageError } from '../git-error.ts';
import { type PackNames, packNames } from '../packs/pack-names.ts';
import { buildPack, type Pack, type PackObject } from '../packs/pack-writer.ts';
import { withTemporaryObjectDirectory } from '../packs/temporary-object-directory.ts';
import { readRef } from '../refs/ref-file.ts';
import { dropRefLock, newRefLock, takeLock, writeRefLock } from '../refs/ref-lock.ts';
import { HeadMovedError } from '../repository.ts';
import { type DurableFiles, syncRefDirectory, writeDurably } from './durable-files.ts';

export interface Publication {
  readonly parent: string | undefined;
  readonly tip: string;
  readonly objects: readonly PackObject[];
}

/**
 * Asked when a publication is on the disk and before the branch moves; throws to leave the branch
 * where it is. `objects` is an object directory with what is published.
 */
export type Gate = (publication: Publication, objects: string) => Promise<void>;

/** What makes publications durable and visible. */
export interface Publishing {
  /** Publications take effect in the order of the calls; writing their files overlaps. */
  publish(publication: Publication): Promise<void>;
  /** Resolves when every publication asked for so far has ended, and left nothing behind. */
  settled(): Promise<void>;
  /** Packs that were there stay there while work goes on that looks at all of them. */
  whileStill<T>(work: () => Promise<T>): Promise<T>;
}

export interface PublisherOptions {
  readonly files: DurableFiles;
  readonly owner: string;
  /** How long to wait for a ref lock that somebody else holds. */
  readonly lockPatienceMs: number;
  readonly gate?: Gate | undefined;
}

interface Prepared {
  readonly publication: Publication;
  readonly pack: Pack;
  readonly names: PackNames;
  readonly claim: string;
}

export class Publisher implements Publishing {
  readonly #gitDir: string;
  readonly #ref: string;
  readonly #options: PublisherOptions;
  /** Settles when every publication asked for so far has ended. */
  #last: Promise<void> = Promise.resolve();
  #running = 0;

  constructor(where: { gitDir: string; ref: string }, options: PublisherOptions) {
    this.#gitDir = where.gitDir;
    this.#ref = where.ref;
    this.#options = options;
  }

  async publish(publication: Publication): Promise<void> {
    const before = this.#last;
    const prepared = this.#prepare(publication);
    this.#running += 1;
    const done = this.#publishAfter(prepared, before).finally(() => {
      this.#running -= 1;
    });
    // Whoever waits for a publication need not wait until the traces of a success are gone.
    const tidied = done.then(
      () => dropRefLock(this.#options.files, prepared.claim),
      () => this.#cleanUp(prepared),
    );
    this.#last = Promise.allSettled([before, tidied]).then(() => undefined);
    await done.catch(async (error: unknown) => {
      await tidied;
      throw error;
    });
  }

  async settled(): Promise<void> {
    await this.#last;
  }

  whileStill<T>(work: () => Promise<T>): Promise<T> {
    return work();
  }

  #prepare(publication: Publication): Prepared {
    const { owner } = this.#options;
    const pack = buildPack(publication.objects);
    const names = packNames(this.#gitDir, pack.checksum, owner);
    return { publication, pack, names, claim: newRefLock(this.#gitDir, owner) };
  }

  async #publishAfter(prepared: Prepared, before: Promise<void>): Promise<void> {
    // Not worth writing anything for a branch that is known to be elsewhere.
    if (this.#running === 1) await this.#compare(prepared.publication.parent);
    await this.#write(prepared);
    await before;
    await this.#passGate(prepared);
    await this.#moveLocked(prepared);
  }

  async #compare(expected: string | undefined): Promise<void> {
    const actual = await readRef(this.#gitDir, this.#ref);
    if (actual !== expected) throw new HeadMovedError(expected, actual);
  }

  async #write({ names, claim, publication, pack }: Prepared): Promise<void> {
    const { files } = this.#options;
    const written = await Promise.allSettled([
      writeDurably(files, names.newPack, { bytes: pack.pack, mode: 0o444 }),
      writeDurably(files, names.newIndex, { bytes: pack.index, mode: 0o444 }),
      writeRefLock(files, claim, publication.tip),
    ]);
    for (const result of written) {
      if (result.status === 'rejected') throw this.#storageError(result.reason, false);
    }
  }

  async #passGate({ publication, names }: Prepared): Promise<void> {
    const { gate } = this.#options;
    if (gate === undefined) return;
    await this.#compare(publication.parent);
    await withTemporaryObjectDirectory(this.#gitDir, names, (objects) =>
      gate(publication, objects),
    );
  }

  async #moveLocked({ publication, names, claim }: Prepared): Promise<void> {
    const { files, lockPatienceMs: patienceMs } = this.#options;
    const ref = join(this.#gitDir, this.#ref);
    const file = `${ref}.lock`;
    let state: 'free' | 'locked' | 'moved' = 'free';
    try {
      await takeLock(files, claim, { file, gitDir: this.#gitDir, patienceMs });
      state = 'locked';
      await this.#compare(publication.parent);
      await this.#showPack(names);
      await renameIntoPlace(files, file, ref);
      state = 'moved';
      await syncRefDirectory(files, dirname(ref));
    } catch (error) {
      if (state === 'locked') await files.remove(file).catch(() => undefined);
      // Behind the gate the commits are there already: our branch will follow.
      const isBehindGate = this.#options.gate !== undefined && !(error instanceof HeadMovedError);
      if (isBehindGate && error instanceof RefLockedError) {
        throw new StorageError(file, { cause: error, moved: true });
      }
      throw this.#storageError(error, state === 'moved' || isBehindGate);
    }
  }

  async #showPack(names: PackNames): Promise<void> {
    const { files } = this.#options;
    await files.rename(names.newPack, names.pack);
    try {
      await files.rename(names.newIndex, names.index);
    } catch (error) {
      // Without its index nobody knows the pack, unless these very bytes were there before.
      if (!existsSync(names.index)) await files.remove(names.pack).catch(() => undefined);
      throw error;
    }
    await files.syncDirectory(dirname(names.pack));
  }

  async #cleanUp({ names, claim }: Prepared): Promise<void> {
    const { files } = this.#options;
    await Promise.all([
      dropRefLock(files, claim),
      files.remove(names.newPack).catch(() => undefined),
      files.remove(names.newIndex).catch(() => undefined),
    ]);
  }

  #storageError(error: unknown, moved: boolean): unknown {
    return asStorageError(error, { place: this.#gitDir, moved });
  }
}

/** A failed system call in words that tell where the branch is; any other error as it is. */
export function asStorageError(
  error: unknown,
  { place, moved }: { readonly place: string; readonly moved: boolean },
): unknown {
  if (error instanceof GitError || errorCode(error) === undefined) return error;
  const cause = error as NodeJS.ErrnoException;
  return new StorageError(cause.path ?? place, { cause, moved });
}

/** The lock of a branch becomes the branch. */
export async function renameIntoPlace(
  files: DurableFiles,
  from: string,
  ref: string,
): Promise<void> {
  try {
    await files.rename(from, ref);
  } catch (error) {
    if (errorCode(error) !== 'EISDIR') throw error;
    await removeEmptyDirectories(ref);
    await files.rename(from, ref);
  }
}

/** What deleted branches `a/b` leave behind at `a`. */
async function removeEmptyDirectories(path: string): Promise<void> {
  for (const entry of await readdir(path, { withFileTypes: true })) {
    if (!entry.isDirectory()) {
      throw new GitError(`${path} holds other branches, so that no branch can have its name`, {
        remedy: 'Rename those or choose another branch',
      });
    }
    await removeEmptyDirectories(join(path, entry.name));
  }
  await rmdir(path);
}
