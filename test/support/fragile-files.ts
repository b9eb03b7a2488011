/**
 * A disk that fails, or loses power, exactly when a test says so. It writes real files, and knows
 * what would be left of them: content that was not synced is lost, and so are names in a directory
 * that was not.
 */
import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import type { DurableFile, DurableFiles } from '../../src/git/durable-files.ts';

/** Thrown in place of the process dying: from here on nothing reaches the disk. */
export class Crash extends Error {}

export type Fault =
  /** The process dies before or after the operation of this number. */
  | { readonly kind: 'crash'; readonly at: number; readonly when: 'before' | 'after' }
  /** The operation of this number fails, and `lasting` all that come after it until `repair`. */
  | {
      readonly kind: 'error';
      readonly at: number;
      readonly code: string;
      readonly lasting: boolean;
    };

interface NameChange {
  readonly directory: string;
  readonly undo: () => void;
  durable: boolean;
}

interface OpenFile {
  readonly fd: number;
  synced: boolean;
}

export class FragileFiles implements DurableFiles {
  /** The operations so far, for messages: `rename pack-….idx`. */
  readonly operations: string[] = [];
  readonly #backups: string;
  #fault: Fault | undefined;
  #crashed = false;
  #names: NameChange[] = [];
  #files: OpenFile[] = [];

  /** `backups` is a folder on the same file system for what may have to come back. */
  constructor(backups: string, fault?: Fault) {
    this.#backups = backups;
    this.#fault = fault;
  }

  /** Replaces the fault; `at` counts from the next operation. */
  inject(fault: Fault): void {
    this.#fault = { ...fault, at: fault.at + this.operations.length };
  }

  repair(): void {
    this.#fault = undefined;
  }

  create(path: string, mode: number): Promise<DurableFile> {
    return this.#perform(`create ${path}`, () => {
      const file = { fd: fs.openSync(path, 'wx', mode), synced: true };
      this.#files.push(file);
      this.#changed(path, () => fs.unlinkSync(path));
      return this.#durableFile(file, path);
    });
  }

  #durableFile(file: OpenFile, path: string): DurableFile {
    return {
      write: (bytes) =>
        this.#perform(`write ${path}`, () => {
          fs.writeFileSync(file.fd, bytes);
          file.synced = false;
        }),
      sync: () =>
        this.#perform(`sync ${path}`, () => {
          file.synced = true;
        }),
      // The descriptor stays open: losing power needs it.
      close: async () => undefined,
    };
  }

  link(existing: string, path: string): Promise<void> {
    return this.#perform(`link ${path}`, () => {
      fs.linkSync(existing, path);
      this.#changed(path, () => fs.unlinkSync(path));
    });
  }

  rename(from: string, to: string): Promise<void> {
    return this.#perform(`rename ${to}`, () => {
      const old = this.#backup(to);
      fs.renameSync(from, to);
      this.#changed(to, () => {
        fs.renameSync(to, from);
        if (old !== undefined) fs.linkSync(old, to);
      });
    });
  }

  remove(path: string): Promise<void> {
    return this.#perform(`remove ${path}`, () => {
      const old = this.#backup(path);
      fs.unlinkSync(path);
      this.#changed(path, () => old !== undefined && fs.linkSync(old, path));
    });
  }

  makeDirectory(path: string): Promise<void> {
    return this.#perform(`makeDirectory ${path}`, () => {
      fs.mkdirSync(path);
      this.#changed(path, () => fs.rmSync(path, { recursive: true }));
    });
  }

  syncDirectory(path: string): Promise<void> {
    return this.#perform(`syncDirectory ${path}`, () => {
      for (const change of this.#names) if (change.directory === path) change.durable = true;
    });
  }

  /** Cuts the power: unsynced content is gone, and unsynced names of the directories that
   * `loses` are what they were. */
  losePower(loses: (directory: string) => boolean): void {
    this.#crashed = true;
    for (const { fd, synced } of this.#files) if (!synced) fs.ftruncateSync(fd, 0);
    for (const { directory, undo, durable } of this.#names.toReversed()) {
      if (!durable && loses(directory)) undo();
    }
  }

  /** Closes what it holds open. */
  release(): void {
    this.#crashed = true;
    for (const { fd } of this.#files) fs.closeSync(fd);
    this.#files = [];
  }

  async #perform<T>(operation: string, effect: () => T): Promise<T> {
    const number = this.operations.push(operation.replaceAll(/\/.*\//g, '')) - 1;
    // As on a real disk, what was begun together does not end together.
    await new Promise(setImmediate);
    const fault = this.#fault;
    if (this.#crashed) throw new Crash(operation);
    if (fault?.kind === 'error' && (number === fault.at || (fault.lasting && number > fault.at))) {
      throw Object.assign(new Error(`${fault.code}: injected, ${operation}`), { code: fault.code });
    }
    if (fault?.kind === 'crash' && number === fault.at) {
      this.#crashed = true;
      if (fault.when === 'after') effect();
      throw new Crash(operation);
    }
    return effect();
  }

  #changed(path: string, undo: () => void): void {
    this.#names.push({ directory: dirname(path), undo, durable: false });
  }

  #backup(path: string): string | undefined {
    if (!fs.existsSync(path)) return undefined;
    const backup = join(this.#backups, `backup-${this.#names.length}`);
    fs.linkSync(path, backup);
    return backup;
  }
}
