/**
 * Preallocated files: created ahead of use, and removed in the background. On some file systems,
 * creating and removing a file takes longer than the rest of a publication. A preallocated file is an
 * empty ref lock file (`refs/ref-lock.ts`): git never reads it, and the next start removes it if this
 * process dies.
 */
import { existsSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { errorCode } from '../git-error.ts';
import type { DurableFiles } from '../publication/durable-files.ts';
import { writeSoon } from '../publication/durable-files.ts';
import { newRefLock, releaseRefLock } from '../refs/ref-lock.ts';

/** Paths of the files to create and to remove. */
export interface Preallocation {
  readonly create: readonly string[];
  readonly remove: readonly string[];
}

export interface PreallocatedFilesOptions {
  readonly files: DurableFiles;
  readonly gitDir: string;
  readonly owner: string;
  /** Creates and removes files; rejects if some of it failed. */
  preallocate(stock: Preallocation): Promise<void>;
}

/** Size of the pool. One publication takes up to three files. */
const POOL_SIZE = 30;
const REFILL_BELOW = 9;

export class PreallocatedFiles {
  readonly #options: PreallocatedFilesOptions;
  #ready: string[] = [];
  #discarded: string[] = [];
  #refilling: Promise<void> | undefined;

  constructor(options: PreallocatedFilesOptions) {
    this.#options = options;
  }

  /**
   * Writes `bytes` to a file of the pool, without a flush, and returns its path. The caller ends its
   * use with `discard` or `renamed`. Errors are those of node:fs.
   */
  async write(bytes: Buffer): Promise<string> {
    const { files, gitDir, owner } = this.#options;
    const free = this.#ready.pop();
    if (free !== undefined) {
      try {
        await files.fill(free, bytes);
        return free;
      } catch (error) {
        this.discard(free);
        // A process on another machine may have removed it as a leftover.
        if (errorCode(error) !== 'ENOENT') throw error;
      }
    }
    const path = newRefLock(gitDir, owner);
    try {
      await writeSoon(files, path, { bytes, mode: 0o666 });
    } catch (error) {
      this.discard(path);
      throw error;
    }
    return path;
  }

  /** The file was renamed: nothing is left at this path. */
  renamed(path: string): void {
    releaseRefLock(path);
  }

  /** Schedules the removal of the file. */
  discard(path: string): void {
    this.#discarded.push(path);
  }

  /** Refills the pool and removes discarded files when due. Called after the publication was answered. */
  refill(): void {
    if (this.#ready.length > REFILL_BELOW && this.#discarded.length < POOL_SIZE) return;
    this.#refilling ??= this.#refill().finally(() => {
      this.#refilling = undefined;
    });
  }

  /** Removes all files of the pool, unless the disk refuses. */
  async close(): Promise<void> {
    await this.#refilling;
    const all = [...this.#ready.splice(0), ...this.#discarded.splice(0)];
    for (const path of all) {
      releaseRefLock(path);
      await this.#options.files.remove(path).catch(() => undefined);
    }
  }

  /** Never rejects. */
  async #refill(): Promise<void> {
    await setImmediate();
    const { gitDir, owner, preallocate } = this.#options;
    const remove = this.#discarded.splice(0);
    const missing = Math.max(0, POOL_SIZE - this.#ready.length);
    const create = Array.from({ length: missing }, () => newRefLock(gitDir, owner));
    try {
      await preallocate({ create, remove });
      this.#ready.push(...create);
      for (const path of remove) releaseRefLock(path);
    } catch {
      // The disk refused. Files that exist are removed at the next attempt.
      for (const path of [...remove, ...create]) {
        if (existsSync(path)) this.#discarded.push(path);
        else releaseRefLock(path);
      }
    }
  }
}
