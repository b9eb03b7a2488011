/**
 * Files that are made before they are needed, and go later than they could: making one and giving one
 * up may take a file system longer than all else that a publication asks of it. A spare file is a
 * claim (`git/refs/ref-lock.ts`): empty, where nobody looks, and removed by the next start when this process dies.
 */
import { existsSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { errorCode } from '../git-error.ts';
import type { DurableFiles } from '../publication/durable-files.ts';
import { newRefLock, releaseRefLock, reserveRefLock, writeRefLockSoon } from '../refs/ref-lock.ts';

/** Which spare files are to be made, and which files to go; both are paths. */
export interface Stock {
  readonly make: readonly string[];
  readonly drop: readonly string[];
}

export interface PreallocatedFilesOptions {
  readonly files: DurableFiles;
  readonly gitDir: string;
  readonly owner: string;
  /** Makes and removes them somewhere; rejects where a part of it was not done. */
  stock(stock: Stock): Promise<void>;
}

/** A publication takes up to three. */
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
   * A file with that content, not flushed, until `drop` or `gone`. Errors are those of node:fs.
   */
  async filled(bytes: Buffer): Promise<string> {
    const { files, gitDir, owner } = this.#options;
    const spare = this.#ready.pop();
    if (spare !== undefined) {
      try {
        await files.fill(spare, bytes);
        return spare;
      } catch (error) {
        this.drop(spare);
        // Another machine took it for left over, say.
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

  /** It has another name now and nothing at this one. */
  gone(path: string): void {
    releaseRefLock(path);
  }

  /** It is removed soon. */
  drop(path: string): void {
    this.#unwanted.push(path);
  }

  /** Makes and removes what is due, when whoever waits for something else was served. */
  restock(): void {
    if (this.#ready.length > LOW && this.#unwanted.length < FULL) return;
    this.#stocking ??= this.#restock().finally(() => {
      this.#stocking = undefined;
    });
  }

  /** Leaves none behind, unless the disk refuses. */
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
      // A disk that refuses: what is there goes when it can.
      for (const path of [...drop, ...make]) {
        if (existsSync(path)) this.#unwanted.push(path);
        else releaseRefLock(path);
      }
    }
  }
}
