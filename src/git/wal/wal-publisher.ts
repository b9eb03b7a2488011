/**
 * Publishes through the WAL: one flush of one existing file, instead of three flushes in sequence.
 * The order is the contract:
 *
 * 1. Lock the ref and compare it. From here on no other process moves it.
 * 2. Append the batch to the WAL and flush it. At the same time write its pack for git to read,
 *    without a flush (a "short-lived pack").
 * 3. Rename the ref into place, without a flush, and answer.
 *
 * So git never sees a commit that a power failure could take, and a killed process leaves a complete
 * repository. After a power failure, `wal-replay.ts` repairs the repository from the WAL. A checkpoint
 * soon writes everything since the last one as one pack and flushes the pack and the ref. Then the
 * segment is free again. The replaced packs are removed a little later, since readers may be about to
 * open them.
 *
 * With an `agree` option, other replicas store the commits while they are appended to the WAL. The
 * branch moves when both have them. After a crash in between, only the WAL or only the others have
 * the commits, and the next process that opens the repository must reconcile the two.
 *
 * All of this runs on the thread of the caller: for a single write, the hop to another thread would
 * take longer. The pack worker does the CPU-heavy work: packs of large batches, and batches that do
 * not fit in the WAL, which are published as `Publisher` does.
 */
import { join } from 'node:path';
import { StorageError } from '../git-error.ts';
import type { PackObject } from '../packs/pack-writer.ts';
import { removeShortLived, writeShortLivedFrom } from '../packs/short-lived-pack.ts';
import { LocalPackWorker, type PackWorker } from '../publication/pack-worker.ts';
import {
  asStorageError,
  type Publication,
  type PublisherOptions,
  type Publishing,
  renameIntoPlace,
} from '../publication/publisher.ts';
import { assertHead } from '../refs/ref-file.ts';
import { takeLock } from '../refs/ref-lock.ts';
import { PreallocatedFiles } from './preallocated-files.ts';
import type { WalFile } from './wal-file.ts';
import { WalKeeper } from './wal-keeper.ts';

export interface WalPublisherOptions extends Omit<PublisherOptions, 'gate'> {
  /** Size of each of the two segments. */
  readonly segmentBytes?: number;
  /** See `WalKeeperOptions`. */
  readonly graceMs?: number | undefined;
  /** Runs CPU-heavy work; absent: on the thread of the caller. */
  readonly packWorker?: PackWorker;
  /** Must resolve before the first publication; called again after a rejection. */
  readonly prepare?: () => Promise<void>;
  /** Delay before the WAL is opened; earlier publications may find none. Absent: at once. */
  readonly openAfterMs?: number;
  /** Stores commits elsewhere before the branch moves; a rejection leaves the branch unmoved. */
  readonly agree?: Agreement | undefined;
}

/** Called with the branch locked, or about to be, and known to be at the parent of the batch. */
export interface Agreement {
  /** Resolves when others store the commits and count them as part of the branch. */
  agree(publication: Publication): Promise<void>;
  /** Reports that others store the commits, but the branch here did not move. */
  diverged(): void;
}

const SEGMENT_BYTES = 4 * 1024 * 1024;
/** The pack worker writes packs of more bytes than this. */
const MAX_INLINE_BYTES = 64 * 1024;

interface Appending {
  readonly wal: WalFile;
  readonly record: Buffer;
  /** Settles when the pack is written; undefined: not started. */
  readonly packWritten: Promise<void> | undefined;
}

export class WalPublisher implements Publishing {
  readonly #gitDir: string;
  readonly #ref: string;
  readonly #options: WalPublisherOptions;
  readonly #packWorker: PackWorker;
  readonly #keeper: WalKeeper;
  readonly #preallocated: PreallocatedFiles;
  readonly #starting: NodeJS.Timeout | undefined;
  #preparing: Promise<void> | undefined;
  #opening: Promise<void> | undefined;
  #secondName: string | undefined;
  /** Settles after all publications so far. Never rejects. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(target: { gitDir: string; ref: string }, options: WalPublisherOptions) {
    const { segmentBytes = SEGMENT_BYTES, openAfterMs } = options;
    this.#gitDir = target.gitDir;
    this.#ref = target.ref;
    this.#options = options;
    this.#packWorker = options.packWorker ?? new LocalPackWorker({ ...target, ...options });
    this.#preallocated = new PreallocatedFiles({
      ...target,
      ...options,
      preallocate: (files) => this.#packWorker.preallocate(files),
    });
    this.#keeper = new WalKeeper({
      ...target,
      ...options,
      segmentBytes,
      packWorker: this.#packWorker,
      betweenPublications: (work) => this.#betweenPublications(work),
    });
    const open = (): void => void this.#prepared().catch(() => undefined);
    if (openAfterMs === undefined) open();
    else this.#starting = setTimeout(open, openAfterMs).unref();
  }

  /** Resolves when the WAL is open, or cannot be created. */
  async opened(): Promise<void> {
    await this.#prepared();
    await this.#opening;
  }

  publish(publication: Publication): Promise<void> {
    const before = this.#last;
    const done = this.#publishAfter(publication, before);
    this.#last = done.catch(() => undefined);
    return done;
  }

  async close(): Promise<void> {
    clearTimeout(this.#starting);
    if (this.#preparing !== undefined) await this.#prepared().catch(() => undefined);
    await this.#opening;
    await this.#last;
    await this.#keeper.close();
    if (this.#secondName !== undefined) this.#preallocated.discard(this.#secondName);
    await this.#preallocated.close();
    await this.#packWorker.close();
  }

  holdPacks<T>(work: () => Promise<T>): Promise<T> {
    return this.#keeper.holdPacks(work);
  }

  async #prepared(): Promise<void> {
    const { prepare } = this.#options;
    this.#preparing ??= prepare?.() ?? Promise.resolve();
    try {
      await this.#preparing;
    } catch (error) {
      // The next attempt may find room on the disk.
      this.#preparing = undefined;
      throw asStorageError(error, { place: this.#gitDir, moved: false });
    }
    this.#opening ??= this.#keeper.open();
  }

  #betweenPublications(work: () => void): Promise<void> {
    const done = this.#last.then(work);
    this.#last = done;
    return done;
  }

  async #publishAfter(publication: Publication, before: Promise<unknown>): Promise<void> {
    const packWritten = isLarge(publication.objects)
      ? this.#packWorker.writeShortLived(publication)
      : undefined;
    packWritten?.catch(() => undefined);
    await before;
    if (this.#opening === undefined) await this.#prepared();
    const { wal } = this.#keeper;
    const record = wal?.record(publication);
    if (wal !== undefined && record !== undefined) {
      await this.#publishToWal(publication, { wal, record, packWritten });
      return;
    }
    if (wal !== undefined) void this.#keeper.checkpoint();
    await this.#discard(publication, packWritten);
    await this.#publishAsPack(publication);
  }

  async #publishAsPack(publication: Publication): Promise<void> {
    const { agree } = this.#options;
    if (agree === undefined) return await this.#packWorker.publish(publication);
    await assertHead(this.#gitDir, this.#ref, publication.parent);
    await agree.agree(publication);
    await this.#packWorker.publish(publication).catch((cause: unknown) => {
      agree.diverged();
      throw new StorageError(this.#gitDir, { cause, moved: true });
    });
  }

  async #publishToWal(publication: Publication, appending: Appending): Promise<void> {
    const { files, lockTimeoutMs: timeoutMs } = this.#options;
    const gitDir = this.#gitDir;
    const lockFile = `${join(gitDir, this.#ref)}.lock`;
    let isLocked = false;
    let ownFile: string | undefined;
    try {
      ownFile = await this.#preallocated.write(Buffer.from(`${publication.tip}\n`));
      await takeLock(files, ownFile, { file: lockFile, gitDir, timeoutMs });
      isLocked = true;
      await assertHead(this.#gitDir, this.#ref, publication.parent);
      await this.#writeAndMove(publication, { ...appending, lockFile });
      isLocked = false;
    } catch (error) {
      if (isLocked) await files.remove(lockFile).catch(() => undefined);
      await this.#discard(publication, appending.packWritten);
      if (ownFile !== undefined) this.#preallocated.discard(ownFile);
      this.#preallocated.refill();
      throw asStorageError(error, { place: gitDir, moved: false });
    }
    this.#keepSecondName(ownFile);
    this.#preallocated.refill();
    this.#keeper.checkpointWhenDue();
  }

  /**
   * Keeps a second hard link to the ref file. While it exists, the next rename over the ref deletes no
   * file, which would take longer.
   */
  #keepSecondName(ownFile: string): void {
    if (this.#secondName !== undefined) this.#preallocated.discard(this.#secondName);
    this.#secondName = ownFile;
  }

  async #writeAndMove(
    publication: Publication,
    appending: Appending & { lockFile: string },
  ): Promise<void> {
    const { wal, record, lockFile } = appending;
    this.#keeper.willAppend(publication.tip);
    const appended = wal.append(record);
    const { agree } = this.#options;
    const agreeing = agree?.agree(publication);
    const writingPack =
      appending.packWritten ??
      writeShortLivedFrom(this.#preallocated, this.#packTarget(), publication);
    const results = await Promise.allSettled([appended, writingPack, agreeing]);
    const [appendResult, packResult, agreed] = results;
    try {
      if (agreed.status === 'rejected') throw agreed.reason;
      if (appendResult.status === 'rejected') throw appendResult.reason;
      if (packResult.status === 'rejected') throw packResult.reason;
      await renameIntoPlace(this.#options.files, lockFile, join(this.#gitDir, this.#ref));
    } catch (error) {
      this.#keeper.notPublished(publication.tip);
      await removeShortLived(this.#packTarget(), publication.tip);
      await this.#cancel(wal, appendResult);
      // The others have the commits: this branch has to follow.
      if (agree === undefined || agreed.status === 'rejected') throw error;
      agree.diverged();
      throw new StorageError(this.#gitDir, { cause: error, moved: true });
    }
  }

  /** Prevents a replay of a batch that was not published. */
  async #cancel(wal: WalFile, appendResult: PromiseSettledResult<number>): Promise<void> {
    try {
      if (appendResult.status === 'rejected') throw appendResult.reason;
      await wal.cancel(appendResult.value);
    } catch (cause) {
      // The segment is reused once a checkpoint has saved the rest of it.
      this.#keeper.checkpointSoon(0);
      throw new StorageError(this.#gitDir, { cause, moved: true });
    }
  }

  /** Removes the pack of a batch that is not published through the WAL. Never rejects. */
  async #discard(publication: Publication, packWritten: Promise<void> | undefined): Promise<void> {
    if (packWritten === undefined) return;
    await packWritten.catch(() => undefined);
    await removeShortLived(this.#packTarget(), publication.tip);
  }

  #packTarget(): { files: PublisherOptions['files']; gitDir: string; owner: string } {
    const { files, owner } = this.#options;
    return { files, gitDir: this.#gitDir, owner };
  }
}

function isLarge(objects: readonly PackObject[]): boolean {
  let bytes = 0;
  for (const { data } of objects) bytes += data.length;
  return bytes > MAX_INLINE_BYTES;
}
