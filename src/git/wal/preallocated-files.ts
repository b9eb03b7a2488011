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
import { newRefLock, releaseRefLock, reserveRefLock, writeRefLockSoon } from '../refs/ref-lock.ts';

/** Paths of the files to create and to remove. */
export interface Stock {
  readonly make: readonly string[];
  readonly drop: readonly string[];
}

export interface PreallocatedFilesOptions {
  readonly files: DurableFiles;
  readonly gitDir: string;
  readonly owner: string;
  /** Creates and removes files; rejects if some of it failed. */
  stock(stock: Stock): Promise<void>;
}

/** Size of the pool. One publication takes up to three files. */
const FULL = 30;
const LOW = 9;

export class PreallocatedFiles {
  readonly #options: PreallocatedFilesOptions;
  #ready: string[] = [];
  #unwanted: string[] = [];
  #stocking: Promise<void> | undefined;

  constructor(options: PreallocatedFilesOptions) {
    this.#options = options;
  }

  /**
   * Writes `bytes` to a file of the pool, without a flush, and returns its path. The caller ends its
   * use with `drop` or `gone`. Errors are those of node:fs.
   */
  async filled(bytes: Buffer): Promise<string> {
    const { files, gitDir, owner } = this.#options;
    const free = this.#ready.pop();
    if (free !== undefined) {
      try {
        await files.fill(free, bytes);
        return free;
      } catch (error) {
        this.drop(free);
        // A process on another machine may have removed it as a leftover.
        if (errorCode(error) !== 'ENOENT') throw error;
      }
    }
    const path = newRefLock(gitDir, owner);
    try {
      await writeRefLockSoon(files, path, bytes);
    } catch (error) {
      this.drop(path);
      throw error;
    }
    return path;
  }

  /** The file was renamed: nothing is left at this path. */
  gone(path: string): void {
    releaseRefLock(path);
  }

  /** Schedules the removal of the file. */
  drop(path: string): void {
    this.#unwanted.push(path);
  }

  /** Refills the pool and removes dropped files when due. Called after the publication was answered. */
  restock(): void {
    if (this.#ready.length > LOW && this.#unwanted.length < FULL) return;
    this.#stocking ??= this.#restock().finally(() => {
      this.#stocking = undefined;
    });
  }

  /** Removes all files of the pool, unless the disk refuses. */
  async settled(): Promise<void> {
    await this.#stocking;
    const all = [...this.#ready.splice(0), ...this.#unwanted.splice(0)];
    for (const path of all) {
      releaseRefLock(path);
      await this.#options.files.remove(path).catch(() => undefined);
    }
  }

  /** Never rejects. */
  async #restock(): Promise<void> {
    await setImmediate();
    const { gitDir, owner, stock } = this.#options;
    const drop = this.#unwanted.splice(0);
    const missing = Math.max(0, FULL - this.#ready.length);
    const make = Array.from({ length: missing }, () => newRefLock(gitDir, owner));
    for (const path of make) reserveRefLock(path);
    try {
      await stock({ make, drop });
      this.#ready.push(...make);
      for (const path of drop) releaseRefLock(path);
    } catch {
      // The disk refused. Files that exist are removed at the next attempt.
      for (const path of [...drop, ...make]) {
        if (existsSync(path)) this.#unwanted.push(path);
        else releaseRefLock(path);
      }
    }
  }
}
