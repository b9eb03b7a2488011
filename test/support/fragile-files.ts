/**
 * A disk that fails, or loses power, exactly when a test says so. It writes real files, and knows
 * what would be left of them: content that was not synced is lost, and so are names in a directory
 * that was not.
 */
import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import type {
  DurableFile,
  DurableFiles,
  FixedSizeFile,
} from '../../src/git/publication/durable-files.ts';

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

/** Bytes written over others, and not flushed. */
interface Overwrite {
  readonly fd: number;
  readonly position: number;
  readonly before: Buffer;
  readonly after: Buffer;
}

/** What a loss of power leaves of content that was not flushed. */
export type Remains = 'nothing' | 'garbage' | 'all';

export class FragileFiles implements DurableFiles {
  /** The operations so far, for messages: `rename pack-….idx`. */
  readonly operations: string[] = [];
  readonly #backups: string;
  #fault: Fault | undefined;
  #crashed = false;
  #names: NameChange[] = [];
  #files: OpenFile[] = [];
  #placed: number[] = [];
  #overwrites: Overwrite[] = [];

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

  open(path: string): Promise<FixedSizeFile> {
    return this.#perform(`open ${path}`, () => {
      const fd = fs.openSync(path, 'r+');
      this.#placed.push(fd);
      return {
        writeAt: async (bytes, position) => {
          await this.#perform(`write ${path}`, () => this.#overwrite(fd, bytes, position));
          await this.#perform(`sync ${path}`, () => {
            this.#overwrites = this.#overwrites.filter((one) => one.fd !== fd);
          });
        },
        close: async () => undefined,
      };
    });
  }

  fill(path: string, bytes: Buffer): Promise<void> {
    return this.#perform(`fill ${path}`, () => {
      const fd = fs.openSync(path, 'r+');
      this.#files.push({ fd, synced: false });
      fs.writeFileSync(fd, bytes);
    });
  }

  #overwrite(fd: number, bytes: Buffer, position: number): void {
    const before = Buffer.alloc(bytes.length);
    fs.readSync(fd, before, 0, bytes.length, position);
    fs.writeSync(fd, bytes, 0, bytes.length, position);
    this.#overwrites.push({ fd, position, before, after: bytes });
  }

  syncFile(path: string): Promise<void> {
    return this.#perform(`sync ${path}`, () => {
      const { ino } = fs.statSync(path);
      for (const file of this.#files) if (fs.fstatSync(file.fd).ino === ino) file.synced = true;
    });
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

  /** Cuts the power: of unsynced content there is what `remains`, and unsynced names of the
   * directories that `loses` are what they were. */
  losePower(loses: (directory: string) => boolean, remains: Remains = 'nothing'): void {
    this.#crashed = true;
    for (const { fd, synced } of this.#files) {
      const { size } = fs.fstatSync(fd);
      if (synced || remains === 'all') continue;
      if (remains === 'nothing') fs.ftruncateSync(fd, 0);
      else fs.writeSync(fd, Buffer.alloc(size, 0xa5), 0, size, 0);
    }
    for (const { fd, position, before, after } of this.#overwrites.toReversed()) {
      if (remains === 'all') continue;
      // Sectors arrive in any order.
      const half = after.length >> 1;
      const torn =
        remains === 'nothing'
          ? before
          : Buffer.concat([before.subarray(0, half), after.subarray(half)]);
      fs.writeSync(fd, torn, 0, torn.length, position);
    }
    for (const { directory, undo, durable } of this.#names.toReversed()) {
      if (!durable && loses(directory)) unlessGone(undo);
    }
  }

  /** Closes what it holds open. */
  release(): void {
    this.#crashed = true;
    for (const { fd } of this.#files) fs.closeSync(fd);
    for (const fd of this.#placed) fs.closeSync(fd);
    this.#files = [];
    this.#placed = [];
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

/** Git may have removed it meanwhile. */
function unlessGone(undo: () => void): void {
  try {
    undo();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
