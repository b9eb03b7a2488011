/**
 * The file of the audit log. Lines are appended; the file rotates at a size, and old files are
 * compressed and removed as configured. File names are those of lumberjack:
 * `audit-2026-01-02T15-04-05.000.log`.
 */
import { constants, createReadStream, createWriteStream } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rename, stat, unlink } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { Mutex } from '../concurrency/index.ts';
import type { AuditTarget } from './audit-queue.ts';

export interface AuditFileOptions {
  /** Absolute. A folder gets a file of the usual name. */
  readonly path: string;
  /** True if the configured path is a folder. */
  readonly isFolder?: boolean;
  readonly maxBytes: number;
  /** 0: all. */
  readonly maxBackups: number;
  /** 0: for ever. */
  readonly maxAgeMs: number;
  readonly compress: boolean;
}

const FLAGS = constants.O_APPEND | constants.O_CREAT | constants.O_RDWR | constants.O_NOFOLLOW;

export class AuditFile implements AuditTarget {
  readonly #options: AuditFileOptions;
  readonly #clock: { now(): number };
  readonly #onError: (error: unknown) => void;
  #path = '';
  #handle: FileHandle | undefined;
  #inode = 0;
  #size = 0;
  readonly #backups = new Mutex();
  readonly #writes = new Mutex();
  #isClosed = false;

  constructor(
    options: AuditFileOptions,
    clock: { now(): number },
    onError: (error: unknown) => void,
  ) {
    this.#options = options;
    this.#clock = clock;
    this.#onError = onError;
  }

  async open(): Promise<void> {
    const path = await this.#findPath();
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const handle = await open(path, FLAGS, 0o600);
    try {
      const found = await handle.stat();
      const { size, ino } = found;
      if (!found.isFile()) throw new Error(`${path} is not a file; choose another path`);
      const first = Buffer.alloc(1);
      if (size > 0) await handle.read(first, 0, 1, 0);
      if (size > 0 && first.toString() !== '{') {
        throw new Error(`${path} is not empty and holds no audit log; choose another path`);
      }
      this.#inode = ino;
      this.#size = size;
    } catch (error) {
      await handle.close();
      throw error;
    }
    this.#handle = handle;
  }

  async #findPath(): Promise<string> {
    const { path, isFolder } = this.#options;
    const found = await stat(path).catch(() => undefined);
    this.#path =
      isFolder === true || found?.isDirectory() === true ? join(path, 'audit.log') : path;
    return this.#path;
  }

  async append(lines: readonly Buffer[]): Promise<undefined> {
    await this.#whileOpen(() => this.#append(lines));
  }

  async reopen(): Promise<void> {
    await this.#whileOpen(async () => {
      await this.#syncAndClose();
      await this.open();
    });
  }

  #whileOpen(step: () => Promise<void>): Promise<void> {
    return this.#writes.run(() => {
      if (this.#isClosed) throw new Error('The audit log is closed');
      return step();
    });
  }

  async #append(lines: readonly Buffer[]): Promise<void> {
    await this.#reopenIfMoved();
    const bytes = lines.reduce((sum, { length }) => sum + length, 0);
    if (this.#size > 0 && this.#size + bytes > this.#options.maxBytes) await this.#rotate();
    const handle = this.#handle;
    if (handle === undefined) throw new Error('The audit log is closed');
    try {
      await writeAll(handle, lines);
      this.#size += bytes;
    } catch (error) {
      // Half a line would corrupt the next line as well.
      await handle.truncate(this.#size).catch(() => undefined);
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#writes.idle();
    this.#isClosed = true;
    await this.#syncAndClose();
    await this.#backups.idle();
  }

  /** Syncs before it closes: lines written so far survive a crash of the machine. */
  async #syncAndClose(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.sync().catch(this.#onError);
    await handle?.close();
  }

  /** Another program, such as logrotate, may rotate the file. */
  async #reopenIfMoved(): Promise<void> {
    const found = await stat(this.#path).catch(() => undefined);
    if (this.#handle !== undefined && found?.ino === this.#inode) return;
    await this.#syncAndClose();
    await this.open();
  }

  async #rotate(): Promise<void> {
    await rename(this.#path, await this.#freeName());
    await this.#syncAndClose();
    await this.open();
    this.#backups
      .run(() => keepBackups({ ...this.#options, path: this.#path }, this.#clock.now()))
      .catch(this.#onError);
  }

  /** Two files of the same millisecond need different names. */
  async #freeName(): Promise<string> {
    for (let time = this.#clock.now(); ; time++) {
      const name = backupName(this.#path, time);
      const taken = await Promise.all(
        [name, `${name}.gz`].map((file) => stat(file).catch(() => 0)),
      );
      if (taken.every((found) => found === 0)) return name;
    }
  }
}

async function writeAll(handle: FileHandle, lines: readonly Buffer[]): Promise<void> {
  const { bytesWritten } = await handle.writev(lines);
  let left = bytesWritten;
  // Nearly always there is nothing to do.
  for (const part of lines) {
    if (left < part.length) await handle.appendFile(part.subarray(left));
    left = Math.max(left - part.length, 0);
  }
}

function backupName(path: string, time: number): string {
  const ext = extname(path);
  const stamp = new Date(time).toISOString().replaceAll(':', '-').replace('Z', '');
  return join(dirname(path), `${basename(path, ext)}-${stamp}${ext}`);
}

interface Backup {
  readonly file: string;
  readonly time: number;
  readonly isPacked: boolean;
}

async function keepBackups(options: AuditFileOptions, now: number): Promise<void> {
  const { path, maxBackups, maxAgeMs, compress } = options;
  const backups = await backupsOf(path);
  const times = [...new Set(backups.map(({ time }) => time))].sort((a, b) => b - a);
  const kept = new Set(
    times.filter(
      (time, index) =>
        (maxBackups === 0 || index < maxBackups) && (maxAgeMs === 0 || now - time <= maxAgeMs),
    ),
  );
  for (const { file, time, isPacked } of backups) {
    if (!kept.has(time)) await unlink(file);
    else if (compress && !isPacked) await pack(file);
  }
}

async function backupsOf(path: string): Promise<Backup[]> {
  const ext = extname(path);
  const start = `${basename(path, ext)}-`;
  const names = await readdir(dirname(path));
  return names.flatMap((name) => {
    const plain = name.endsWith('.gz') ? name.slice(0, -3) : name;
    if (!plain.startsWith(start) || !plain.endsWith(ext)) return [];
    const stamp = plain.slice(start.length, plain.length - ext.length);
    const match = /^(\d{4}-\d\d-\d\dT)(\d\d)-(\d\d)-(\d\d\.\d{3})$/.exec(stamp);
    if (match === null) return [];
    const [, day = '', hour, minute, second] = match;
    const time = Date.parse(`${day}${hour}:${minute}:${second}Z`);
    return [{ file: join(dirname(path), name), time, isPacked: plain !== name }];
  });
}

/**
 * Compresses to a temporary name first: after a crash the plain file is still there, and is
 * compressed again.
 */
async function pack(file: string): Promise<void> {
  const unfinished = `${file}.gz.part`;
  await pipeline(
    createReadStream(file),
    createGzip(),
    createWriteStream(unfinished, { mode: 0o600 }),
  );
  await rename(unfinished, `${file}.gz`);
  await unlink(file);
}
