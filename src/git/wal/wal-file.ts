/**
 * The log that a group of commits goes to before anything else, so that one flush makes it durable.
 * Two files of a fixed size, written before they are used, so that a flush is of data alone: one is
 * written to while what the other holds is brought to where git keeps it.
 */
import { join } from 'node:path';
import { StorageError } from '../git-error.ts';
import type { DurableFiles, PlacedFile } from '../publication/durable-files.ts';
import type { Publication } from '../publication/publisher.ts';
import { REF_LOCK_FOLDER } from '../refs/ref-lock.ts';
import {
  calledOffPayload,
  encodeRecord,
  headPayload,
  type LogHead,
  publicationPayload,
} from './wal-format.ts';

export interface WalFileOptions extends LogHead {
  readonly files: DurableFiles;
  readonly gitDir: string;
  /** Of each of the two files. */
  readonly bytes: number;
}

interface LogFile {
  readonly file: PlacedFile;
  /** Its place in `logPaths`. */
  readonly number: 0 | 1;
  epoch: number;
  /** Where the next record goes, and its number. */
  at: number;
  sequence: number;
  /** A write failed: whatever came after it would not be found. */
  isBroken: boolean;
}

/** So many that writing them is left to another thread. */
const ZEROS = Buffer.alloc(1024 * 1024);

/** Where the logs of a repository are. */
export function logPaths(gitDir: string): readonly [string, string] {
  const folder = join(gitDir, REF_LOCK_FOLDER);
  return [join(folder, 'log-0'), join(folder, 'log-1')];
}

export class WalFile {
  readonly #options: WalFileOptions;
  /** The first is written to. */
  #logs: readonly [LogFile, LogFile];
  #epoch = 0;
  #isOtherUsed = false;

  private constructor(options: WalFileOptions, files: readonly [PlacedFile, PlacedFile]) {
    this.#options = options;
    const empty = (file: PlacedFile, number: 0 | 1): LogFile => ({
      file,
      number,
      epoch: 0,
      at: 0,
      sequence: 0,
      isBroken: true,
    });
    this.#logs = [empty(files[0], 0), empty(files[1], 1)];
  }

  /** There must be none. Errors are those of node:fs. */
  static async create(options: WalFileOptions): Promise<WalFile> {
    const { files, gitDir, bytes } = options;
    const made: string[] = [];
    try {
      for (const path of logPaths(gitDir)) await allocate(files, path, { bytes, made });
      await files.syncDirectory(join(gitDir, REF_LOCK_FOLDER));
      const [first, second] = logPaths(gitDir);
      const log = new WalFile(options, [await files.open(first), await files.open(second)]);
      for (const one of log.#logs) await log.#begin(one);
      return log;
    } catch (error) {
      for (const path of made) await files.remove(path).catch(() => undefined);
      throw error;
    }
  }

  /** Bytes that the log in use holds. */
  get used(): number {
    return this.#logs[0].at;
  }

  /** A write to the log in use failed, and nothing can be added to it. */
  get isBroken(): boolean {
    return this.#logs[0].isBroken;
  }

  /** Which of `logPaths` is not in use. */
  get other(): 0 | 1 {
    return this.#logs[1].number;
  }

  /** What the other log holds may be nowhere else. */
  get isOtherUsed(): boolean {
    return this.#isOtherUsed;
  }

  /** The record of a publication; undefined when there is no room for it now. */
  record(publication: Publication): Buffer | undefined {
    const { epoch, sequence, at, isBroken } = this.#logs[0];
    if (isBroken) return undefined;
    const payload = publicationPayload(publication);
    const record = encodeRecord({ kind: 'publication', epoch, sequence, payload });
    return at + record.length > this.#options.bytes ? undefined : record;
  }

  /**
   * Adds what `record` just made. Resolves to its number when it is on stable storage. When it
   * rejects, it may or may not be, and nothing is added until the other file is in use.
   */
  async append(record: Buffer): Promise<number> {
    const [log] = this.#logs;
    const { at, sequence } = log;
    log.at += record.length;
    log.sequence += 1;
    try {
      await log.file.writeAt(record, at);
    } catch (error) {
      log.isBroken = true;
      throw error;
    }
    return sequence;
  }

  /** What has this number in the log in use did not take effect, and must not after a crash. */
  async callOff(number: number): Promise<void> {
    const { epoch, sequence, at, isBroken } = this.#logs[0];
    const payload = calledOffPayload(number);
    const record = encodeRecord({ kind: 'called off', epoch, sequence, payload });
    if (isBroken || at + record.length > this.#options.bytes)
      throw new StorageError(logPaths(this.#options.gitDir)[0], {
        cause: Object.assign(new Error('The log is full'), { code: 'ENOSPC' }),
      });
    await this.append(record);
  }

  /** Goes on in the other file. False, with nothing done, when what that one holds is needed. */
  turn(): boolean {
    if (this.#isOtherUsed) return false;
    const [one, other] = this.#logs;
    this.#logs = [other, one];
    this.#isOtherUsed = true;
    return true;
  }

  /** What the file that was turned away from holds is not needed any more. */
  async release(): Promise<void> {
    await this.#begin(this.#logs[1]);
    this.#isOtherUsed = false;
  }

  async close(): Promise<void> {
    for (const { file } of this.#logs) await file.close();
  }

  /** Closes it; nothing that it holds is needed any more. */
  async remove(): Promise<void> {
    const { files, gitDir } = this.#options;
    await this.close();
    for (const path of logPaths(gitDir)) await files.remove(path);
    await files.syncDirectory(join(gitDir, REF_LOCK_FOLDER));
  }

  async #begin(log: LogFile): Promise<void> {
    const { ref, owner } = this.#options;
    const epoch = ++this.#epoch;
    const payload = headPayload({ ref, owner });
    const head = encodeRecord({ kind: 'head', epoch, sequence: 0, payload });
    await log.file.writeAt(head, 0);
    Object.assign(log, { epoch, at: head.length, sequence: 1, isBroken: false });
  }
}

async function allocate(
  files: DurableFiles,
  path: string,
  { bytes, made }: { readonly bytes: number; readonly made: string[] },
): Promise<void> {
  const file = await files.create(path, 0o600);
  made.push(path);
  try {
    for (let left = bytes; left > 0; left -= ZEROS.length) {
      await file.write(left < ZEROS.length ? ZEROS.subarray(0, left) : ZEROS);
    }
    await file.sync();
  } finally {
    await file.close();
  }
}
