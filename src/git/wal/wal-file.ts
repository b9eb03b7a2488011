/**
 * The WAL on disk. Each batch of commits is appended here first, so that one flush makes it durable.
 * The WAL has two segments of a fixed size, filled with zeros at creation so that a flush writes data
 * and no metadata. One segment takes new records while the other one is checkpointed.
 */
import { join } from 'node:path';
import { StorageError } from '../git-error.ts';
import type { DurableFiles, FixedSizeFile } from '../publication/durable-files.ts';
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
  /** Size of each of the two segments. */
  readonly bytes: number;
}

interface LogFile {
  readonly file: FixedSizeFile;
  /** Index in `logPaths`. */
  readonly number: 0 | 1;
  epoch: number;
  /** Offset and sequence of the next record. */
  at: number;
  sequence: number;
  /** A write failed. Replay would not find records after it. */
  isBroken: boolean;
}

/** Large enough for Node to write it on the thread pool. */
const ZEROS = Buffer.alloc(1024 * 1024);

/** Paths of the two WAL segments of a repository. */
export function logPaths(gitDir: string): readonly [string, string] {
  const folder = join(gitDir, REF_LOCK_FOLDER);
  return [join(folder, 'log-0'), join(folder, 'log-1')];
}

export class WalFile {
  readonly #options: WalFileOptions;
  /** The first segment is the active one. */
  #logs: readonly [LogFile, LogFile];
  #epoch = 0;
  #isOtherUsed = false;

  private constructor(options: WalFileOptions, files: readonly [FixedSizeFile, FixedSizeFile]) {
    this.#options = options;
    const empty = (file: FixedSizeFile, number: 0 | 1): LogFile => ({
      file,
      number,
      epoch: 0,
      at: 0,
      sequence: 0,
      isBroken: true,
    });
    this.#logs = [empty(files[0], 0), empty(files[1], 1)];
  }

  /** Creates both segments; none may exist. Errors are those of node:fs. */
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

  /** Bytes used in the active segment. */
  get used(): number {
    return this.#logs[0].at;
  }

  /** A write to the active segment failed, so that nothing can be appended to it. */
  get isBroken(): boolean {
    return this.#logs[0].isBroken;
  }

  /** Index in `logPaths` of the inactive segment. */
  get other(): 0 | 1 {
    return this.#logs[1].number;
  }

  /** The inactive segment may hold records that are not checkpointed. */
  get isOtherUsed(): boolean {
    return this.#isOtherUsed;
  }

  /** Encodes the record of a publication; undefined if the active segment has no room for it. */
  record(publication: Publication): Buffer | undefined {
    const { epoch, sequence, at, isBroken } = this.#logs[0];
    if (isBroken) return undefined;
    const payload = publicationPayload(publication);
    const record = encodeRecord({ kind: 'publication', epoch, sequence, payload });
    return at + record.length > this.#options.bytes ? undefined : record;
  }

  /**
   * Appends a record that `record` has just returned. Resolves to its sequence number when it is on
   * stable storage. After a rejection the record may or may not be stored, and nothing can be appended
   * until the other segment is active.
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

  /** Cancels a record of the active segment: a replay after a crash skips it. */
  async callOff(number: number): Promise<void> {
    const { epoch, sequence, at, isBroken } = this.#logs[0];
    const payload = calledOffPayload(number);
    const record = encodeRecord({ kind: 'called off', epoch, sequence, payload });
    if (isBroken || at + record.length > this.#options.bytes)
      throw new StorageError(logPaths(this.#options.gitDir)[0], {
        cause: Object.assign(new Error('The WAL is full'), { code: 'ENOSPC' }),
      });
    await this.append(record);
  }

  /** Makes the other segment active. Returns false, and does nothing, while that one is in use. */
  turn(): boolean {
    if (this.#isOtherUsed) return false;
    const [one, other] = this.#logs;
    this.#logs = [other, one];
    this.#isOtherUsed = true;
    return true;
  }

  /** Frees the inactive segment after its checkpoint. */
  async release(): Promise<void> {
    await this.#begin(this.#logs[1]);
    this.#isOtherUsed = false;
  }

  async close(): Promise<void> {
    for (const { file } of this.#logs) await file.close();
  }

  /** Closes and removes both segments. Everything in them must be checkpointed. */
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
