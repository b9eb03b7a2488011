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
  cancellationPayload,
  encodeRecord,
  headPayload,
  publicationKind,
  publicationPayload,
  type WalHead,
} from './wal-format.ts';

export interface WalFileOptions extends WalHead {
  readonly files: DurableFiles;
  readonly gitDir: string;
  /** Size of each of the two segments. */
  readonly bytes: number;
}

interface Segment {
  readonly file: FixedSizeFile;
  /** Index in `walPaths`. */
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
export function walPaths(gitDir: string): readonly [string, string] {
  const folder = join(gitDir, REF_LOCK_FOLDER);
  return [join(folder, 'log-0'), join(folder, 'log-1')];
}

export class WalFile {
  readonly #options: WalFileOptions;
  /** The first segment is the active one. */
  #segments: readonly [Segment, Segment];
  #epoch = 0;
  #isInactiveUsed = false;

  private constructor(options: WalFileOptions, files: readonly [FixedSizeFile, FixedSizeFile]) {
    this.#options = options;
    const empty = (file: FixedSizeFile, number: 0 | 1): Segment => ({
      file,
      number,
      epoch: 0,
      at: 0,
      sequence: 0,
      isBroken: true,
    });
    this.#segments = [empty(files[0], 0), empty(files[1], 1)];
  }

  /** Creates both segments; none may exist. Errors are those of node:fs. */
  static async create(options: WalFileOptions): Promise<WalFile> {
    const { files, gitDir, bytes } = options;
    const made: string[] = [];
    try {
      for (const path of walPaths(gitDir)) await allocate(files, path, { bytes, made });
      await files.syncDirectory(join(gitDir, REF_LOCK_FOLDER));
      const [first, second] = walPaths(gitDir);
      const wal = new WalFile(options, [await files.open(first), await files.open(second)]);
      for (const one of wal.#segments) await wal.#begin(one);
      return wal;
    } catch (error) {
      for (const path of made) await files.remove(path).catch(() => undefined);
      throw error;
    }
  }

  /** Bytes used in the active segment. */
  get used(): number {
    return this.#segments[0].at;
  }

  /** A write to the active segment failed, so that nothing can be appended to it. */
  get isBroken(): boolean {
    return this.#segments[0].isBroken;
  }

  /** Index in `walPaths` of the inactive segment. */
  get inactive(): 0 | 1 {
    return this.#segments[1].number;
  }

  /** The inactive segment may hold records that are not checkpointed. */
  get isInactiveUsed(): boolean {
    return this.#isInactiveUsed;
  }

  /** Encodes the record of a publication; undefined if the active segment has no room for it. */
  record(publication: Publication): Buffer | undefined {
    const { epoch, sequence, at, isBroken } = this.#segments[0];
    if (isBroken) return undefined;
    const payload = publicationPayload(publication);
    const kind = publicationKind(publication);
    const record = encodeRecord({ kind, epoch, sequence, payload });
    return at + record.length > this.#options.bytes ? undefined : record;
  }

  /**
   * Appends a record that `record` has just returned. Resolves to its sequence number when it is on
   * stable storage. After a rejection the record may or may not be stored, and nothing can be appended
   * until the other segment is active.
   */
  async append(record: Buffer): Promise<number> {
    const [segment] = this.#segments;
    const { at, sequence } = segment;
    segment.at += record.length;
    segment.sequence += 1;
    try {
      await segment.file.writeAt(record, at);
    } catch (error) {
      segment.isBroken = true;
      throw error;
    }
    return sequence;
  }

  /** Cancels a record of the active segment: a replay after a crash skips it. */
  async cancel(number: number): Promise<void> {
    const { epoch, sequence, at, isBroken } = this.#segments[0];
    const payload = cancellationPayload(number);
    const record = encodeRecord({ kind: 'canceled', epoch, sequence, payload });
    if (isBroken || at + record.length > this.#options.bytes)
      throw new StorageError(walPaths(this.#options.gitDir)[0], {
        cause: Object.assign(new Error('The WAL is full'), { code: 'ENOSPC' }),
      });
    await this.append(record);
  }

  /** Makes the other segment active. Returns false, and does nothing, while that one is in use. */
  switchSegment(): boolean {
    if (this.#isInactiveUsed) return false;
    const [one, other] = this.#segments;
    this.#segments = [other, one];
    this.#isInactiveUsed = true;
    return true;
  }

  /** Frees the inactive segment after its checkpoint. */
  async release(): Promise<void> {
    await this.#begin(this.#segments[1]);
    this.#isInactiveUsed = false;
  }

  async close(): Promise<void> {
    for (const { file } of this.#segments) await file.close();
  }

  /** Closes and removes both segments. Everything in them must be checkpointed. */
  async remove(): Promise<void> {
    const { files, gitDir } = this.#options;
    await this.close();
    for (const path of walPaths(gitDir)) await files.remove(path);
    await files.syncDirectory(join(gitDir, REF_LOCK_FOLDER));
  }

  async #begin(segment: Segment): Promise<void> {
    const { ref, owner } = this.#options;
    const epoch = ++this.#epoch;
    const payload = headPayload({ ref, owner });
    const head = encodeRecord({ kind: 'head', epoch, sequence: 0, payload });
    await segment.file.writeAt(head, 0);
    Object.assign(segment, { epoch, at: head.length, sequence: 1, isBroken: false });
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
