/**
 * Makes a batch of commits durable and moves the branch to its tip. The order is the contract:
 *
 * 1. Write the pack, the index and the new value of the ref in parallel, under names that git ignores,
 *    each with an fsync.
 * 2. Lock the ref and compare it. From here on no other process moves it.
 * 3. Rename the pack, then the index (git sees a pack once its index exists), and sync the directory:
 *    the objects are durable before a ref points to them.
 * 4. Rename the ref into place and sync its directory.
 *
 * A gate (for example a remote that must receive the commits first) is asked between 1 and 2. The
 * branch may then already be at the commits, or beyond: that is a success.
 *
 * A crash before 4 leaves at most unreachable objects and temporary files, which the next start
 * removes.
 */
import { existsSync } from 'node:fs';
import { readdir, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errorCode, GitError, RefLockedError, StorageError } from '../git-error.ts';
import { type PackNames, packNames } from '../packs/pack-names.ts';
import { buildPack, type Pack, type PackObject } from '../packs/pack-writer.ts';
import { withTemporaryObjectDirectory } from '../packs/temporary-object-directory.ts';
import { containsCommit } from '../reading/contains-commit.ts';
import { assertHead, readRef } from '../refs/ref-file.ts';
import { dropRefLock, newRefLock, takeLock, writeRefLock } from '../refs/ref-lock.ts';
import { HeadMovedError } from '../repository.ts';
import { type DurableFiles, syncRefDirectory, writeDurably } from './durable-files.ts';

export interface Publication {
  readonly parent: string | undefined;
  readonly tip: string;
  readonly objects: readonly PackObject[];
}

/**
 * Called when a publication is on disk and before the branch moves; throws to leave the branch
 * unmoved. `objects` is an object directory with the objects of the publication.
 */
export type Gate = (publication: Publication, objects: string) => Promise<void>;

/** Makes publications durable and visible. */
export interface Publishing {
  /** Publications take effect in the order of the calls. Their files are written in parallel. */
  publish(publication: Publication): Promise<void>;
  /** Resolves when all publications so far have ended and their temporary files are removed. */
  close(): Promise<void>;
  /** Runs `work`, which reads all packs, while no pack is removed. */
  holdPacks<T>(work: () => Promise<T>): Promise<T>;
}

export interface PublisherOptions {
  readonly files: DurableFiles;
  readonly owner: string;
  /** Time limit for a ref lock of another process. */
  readonly lockTimeoutMs: number;
  readonly gate?: Gate | undefined;
}

interface Prepared {
  readonly publication: Publication;
  readonly pack: Pack;
  readonly names: PackNames;
  readonly ownFile: string;
}

export class Publisher implements Publishing {
  readonly #gitDir: string;
  readonly #ref: string;
  readonly #options: PublisherOptions;
  /** Settles when every publication asked for so far has ended. */
  #last: Promise<void> = Promise.resolve();
  #running = 0;

  constructor(target: { gitDir: string; ref: string }, options: PublisherOptions) {
    this.#gitDir = target.gitDir;
    this.#ref = target.ref;
    this.#options = options;
  }

  async publish(publication: Publication): Promise<void> {
    const before = this.#last;
    const prepared = this.#prepare(publication);
    this.#running += 1;
    const done = this.#publishAfter(prepared, before).finally(() => {
      this.#running -= 1;
    });
    // After a success the caller does not wait for the removal of temporary files.
    const cleaned = done.then(
      () => dropRefLock(this.#options.files, prepared.ownFile),
      () => this.#cleanUp(prepared),
    );
    this.#last = Promise.allSettled([before, cleaned]).then(() => undefined);
    await done.catch(async (error: unknown) => {
      await cleaned;
      throw error;
    });
  }

  async close(): Promise<void> {
    await this.#last;
  }

  holdPacks<T>(work: () => Promise<T>): Promise<T> {
    return work();
  }

  #prepare(publication: Publication): Prepared {
    const { owner } = this.#options;
    const pack = buildPack(publication.objects);
    const names = packNames(this.#gitDir, pack.checksum, owner);
    return { publication, pack, names, ownFile: newRefLock(this.#gitDir, owner) };
  }

  async #publishAfter(prepared: Prepared, before: Promise<void>): Promise<void> {
    // Nothing is written for a branch that has already moved.
    if (this.#running === 1) await assertHead(this.#gitDir, this.#ref, prepared.publication.parent);
    await this.#write(prepared);
    await before;
    await this.#passGate(prepared);
    await this.#moveLocked(prepared);
  }

  async #write({ names, ownFile, publication, pack }: Prepared): Promise<void> {
    const { files } = this.#options;
    const written = await Promise.allSettled([
      writeDurably(files, names.newPack, { bytes: pack.pack, mode: 0o444 }),
      writeDurably(files, names.newIndex, { bytes: pack.index, mode: 0o444 }),
      writeRefLock(files, ownFile, publication.tip),
    ]);
    for (const result of written) {
      if (result.status === 'rejected') throw this.#storageError(result.reason, false);
    }
  }

  async #passGate({ publication, names }: Prepared): Promise<void> {
    const { gate } = this.#options;
    if (gate === undefined) return;
    await assertHead(this.#gitDir, this.#ref, publication.parent);
    await withTemporaryObjectDirectory(this.#gitDir, names, (objects) =>
      gate(publication, objects),
    );
  }

  async #moveLocked({ publication, names, ownFile }: Prepared): Promise<void> {
    const { files, lockTimeoutMs: timeoutMs } = this.#options;
    const ref = join(this.#gitDir, this.#ref);
    const file = `${ref}.lock`;
    let state: 'free' | 'locked' | 'moved' = 'free';
    try {
      await takeLock(files, ownFile, { file, gitDir: this.#gitDir, timeoutMs });
      state = 'locked';
      if (await this.#isAdopted(publication)) {
        await files.remove(file);
        await this.#removePack(names);
        return;
      }
      await assertHead(this.#gitDir, this.#ref, publication.parent);
      await this.#renamePack(names);
      await renameIntoPlace(files, file, ref);
      state = 'moved';
      await syncRefDirectory(files, dirname(ref));
    } catch (error) {
      if (state === 'locked') await files.remove(file).catch(() => undefined);
      // The remote behind the gate already has the commits: this branch will follow.
      const isBehindGate = this.#options.gate !== undefined && !(error instanceof HeadMovedError);
      if (isBehindGate && error instanceof RefLockedError) {
        throw new StorageError(file, { cause: error, moved: true });
      }
      throw this.#storageError(error, state === 'moved' || isBehindGate);
    }
  }

  /**
   * True if the branch has the commits already: between the gate and the lock, a fetch from the remote
   * behind the gate moved it there, or further.
   */
  async #isAdopted({ parent, tip }: Publication): Promise<boolean> {
    if (this.#options.gate === undefined) return false;
    const head = await readRef(this.#gitDir, this.#ref);
    if (head === undefined || head === parent) return false;
    return await containsCommit(this.#gitDir, head, tip);
  }

  async #renamePack(names: PackNames): Promise<void> {
    const { files } = this.#options;
    await files.rename(names.newPack, names.pack);
    try {
      await files.rename(names.newIndex, names.index);
    } catch (error) {
      // A pack without an index is unused, unless a pack with the same bytes existed before.
      if (!existsSync(names.index)) await files.remove(names.pack).catch(() => undefined);
      throw error;
    }
    await files.syncDirectory(dirname(names.pack));
  }

  async #cleanUp({ names, ownFile }: Prepared): Promise<void> {
    const { files } = this.#options;
    await Promise.all([dropRefLock(files, ownFile), this.#removePack(names)]);
  }

  /** Removes a pack that has not been renamed into place. Never rejects. */
  async #removePack({ newPack, newIndex }: PackNames): Promise<void> {
    const { files } = this.#options;
    await Promise.allSettled([files.remove(newPack), files.remove(newIndex)]);
  }

  #storageError(error: unknown, moved: boolean): unknown {
    return asStorageError(error, { place: this.#gitDir, moved });
  }
}

/** Wraps a failed system call in a StorageError that says if the branch moved; returns other errors. */
export function asStorageError(
  error: unknown,
  { place, moved }: { readonly place: string; readonly moved: boolean },
): unknown {
  if (error instanceof GitError || errorCode(error) === undefined) return error;
  const path = error instanceof Error && 'path' in error ? error.path : undefined;
  return new StorageError(typeof path === 'string' ? path : place, { cause: error, moved });
}

/** Renames the lock file of a branch to the branch. */
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

/** Removes the directory `a` that deleted branches `a/b` left. */
async function removeEmptyDirectories(path: string): Promise<void> {
  for (const entry of await readdir(path, { withFileTypes: true })) {
    if (!entry.isDirectory()) {
      throw new GitError(`${path} contains other branches, so that no branch can have its name`, {
        remedy: 'Rename those branches or choose another branch name',
      });
    }
    await removeEmptyDirectories(join(path, entry.name));
  }
  await rmdir(path);
}
