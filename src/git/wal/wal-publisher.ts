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
import { readRef } from '../refs/ref-file.ts';
import { refContent, takeLock } from '../refs/ref-lock.ts';
import { HeadMovedError } from '../repository.ts';
import { PreallocatedFiles } from './preallocated-files.ts';
import type { WalFile } from './wal-file.ts';
import { WalKeeper } from './wal-keeper.ts';

export interface WalPublisherOptions extends Omit<PublisherOptions, 'gate'> {
  /** Size of each of the two segments. */
  readonly logBytes?: number;
  /** See `WalKeeperOptions`. */
  readonly graceMs?: number | undefined;
  /** Runs CPU-heavy work; absent: on the thread of the caller. */
  readonly workshop?: PackWorker;
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
  astray(): void;
}

const LOG_BYTES = 4 * 1024 * 1024;
/** The pack worker writes packs of more bytes than this. */
const MAX_INLINE_BYTES = 64 * 1024;

interface Logged {
  readonly log: WalFile;
  readonly record: Buffer;
  /** Settles when the pack is written; undefined: not started. */
  readonly shown: Promise<void> | undefined;
}

export class WalPublisher implements Publishing {
  readonly #gitDir: string;
  readonly #ref: string;
  readonly #options: WalPublisherOptions;
  readonly #workshop: PackWorker;
  readonly #keeper: WalKeeper;
  readonly #spares: PreallocatedFiles;
  readonly #starting: NodeJS.Timeout | undefined;
  #preparing: Promise<void> | undefined;
  #opening: Promise<void> | undefined;
  #secondName: string | undefined;
  /** Settles after all publications so far. Never rejects. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(where: { gitDir: string; ref: string }, options: WalPublisherOptions) {
    const { logBytes = LOG_BYTES, openAfterMs } = options;
    this.#gitDir = where.gitDir;
    this.#ref = where.ref;
    this.#options = options;
    this.#workshop = options.workshop ?? new LocalPackWorker({ ...where, ...options });
    this.#spares = new PreallocatedFiles({
      ...where,
      ...options,
      stock: (stock) => this.#workshop.stock(stock),
    });
    this.#keeper = new WalKeeper({
      ...where,
      ...options,
      logBytes,
      workshop: this.#workshop,
      between: (work) => this.#between(work),
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

  async settled(): Promise<void> {
    clearTimeout(this.#starting);
    if (this.#preparing !== undefined) await this.#prepared().catch(() => undefined);
    await this.#opening;
    await this.#last;
    await this.#keeper.close();
    if (this.#secondName !== undefined) this.#spares.drop(this.#secondName);
    await this.#spares.settled();
    await this.#workshop.settled();
  }

  whileStill<T>(work: () => Promise<T>): Promise<T> {
    return this.#keeper.whileStill(work);
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

  #between(work: () => void): Promise<void> {
    const done = this.#last.then(work);
    this.#last = done;
    return done;
  }

  async #publishAfter(publication: Publication, before: Promise<unknown>): Promise<void> {
    const shown = isLarge(publication.objects) ? this.#workshop.show(publication) : undefined;
    shown?.catch(() => undefined);
    await before;
    const log = await this.#usableLog();
    const record = log?.record(publication);
    if (log !== undefined && record !== undefined) {
      await this.#publishLogged(publication, { log, record, shown });
      return;
    }
    if (log !== undefined) void this.#keeper.save();
    await this.#discard(publication, shown);
    await this.#publishUnlogged(publication);
  }

  async #publishUnlogged(publication: Publication): Promise<void> {
    const { agree } = this.#options;
    if (agree === undefined) return await this.#workshop.publish(publication);
    await this.#compare(publication.parent);
    await agree.agree(publication);
    await this.#workshop.publish(publication).catch((cause: unknown) => {
      agree.astray();
      throw new StorageError(this.#gitDir, { cause, moved: true });
    });
  }

  async #usableLog(): Promise<WalFile | undefined> {
    if (this.#opening === undefined) await this.#prepared();
    return this.#keeper.log;
  }

  async #publishLogged(publication: Publication, by: Logged): Promise<void> {
    const { files, lockPatienceMs: patienceMs } = this.#options;
    const gitDir = this.#gitDir;
    const file = `${join(gitDir, this.#ref)}.lock`;
    let isLocked = false;
    let claim: string | undefined;
    try {
      claim = await this.#spares.filled(refContent(publication.tip));
      await takeLock(files, claim, { file, gitDir, patienceMs });
      isLocked = true;
      await this.#compare(publication.parent);
      await this.#writeAndMove(publication, { ...by, file });
      isLocked = false;
    } catch (error) {
      if (isLocked) await files.remove(file).catch(() => undefined);
      await this.#discard(publication, by.shown);
      if (claim !== undefined) this.#spares.drop(claim);
      this.#spares.restock();
      throw asStorageError(error, { place: gitDir, moved: false });
    }
    this.#keepSecondName(claim);
    this.#spares.restock();
    this.#keeper.saveWhenDue();
  }

  /**
   * Keeps a second hard link to the ref file. While it exists, the next rename over the ref deletes no
   * file, which would take longer.
   */
  #keepSecondName(claim: string): void {
    if (this.#secondName !== undefined) this.#spares.drop(this.#secondName);
    this.#secondName = claim;
  }

  async #compare(expected: string | undefined): Promise<void> {
    const actual = await readRef(this.#gitDir, this.#ref);
    if (actual !== expected) throw new HeadMovedError(expected, actual);
  }

  async #writeAndMove(publication: Publication, by: Logged & { file: string }): Promise<void> {
    const { log, record, file } = by;
    this.#keeper.adds(publication.tip);
    const logging = log.append(record);
    const { agree } = this.#options;
    const agreeing = agree?.agree(publication);
    const showing = by.shown ?? writeShortLivedFrom(this.#spares, this.#place(), publication);
    const ended = await Promise.allSettled([logging, showing, agreeing]);
    const [logged, shown, agreed] = ended;
    try {
      if (agreed.status === 'rejected') throw agreed.reason;
      if (logged.status === 'rejected') throw logged.reason;
      if (shown.status === 'rejected') throw shown.reason;
      await renameIntoPlace(this.#options.files, file, join(this.#gitDir, this.#ref));
    } catch (error) {
      this.#keeper.forget(publication.tip);
      await removeShortLived(this.#place(), publication.tip);
      await this.#callOff(log, logged);
      // The others have the commits: this branch has to follow.
      if (agree === undefined || agreed.status === 'rejected') throw error;
      agree.astray();
      throw new StorageError(this.#gitDir, { cause: error, moved: true });
    }
  }

  /** Prevents a replay of a batch that was not published. */
  async #callOff(log: WalFile, logged: PromiseSettledResult<number>): Promise<void> {
    try {
      if (logged.status === 'rejected') throw logged.reason;
      await log.callOff(logged.value);
    } catch (cause) {
      // The segment is reused once a checkpoint has saved the rest of it.
      this.#keeper.saveSoon(0);
      throw new StorageError(this.#gitDir, { cause, moved: true });
    }
  }

  /** Removes the pack of a batch that is not published through the WAL. Never rejects. */
  async #discard(publication: Publication, shown: Promise<void> | undefined): Promise<void> {
    if (shown === undefined) return;
    await shown.catch(() => undefined);
    await removeShortLived(this.#place(), publication.tip);
  }

  #place(): { files: PublisherOptions['files']; gitDir: string; owner: string } {
    const { files, owner } = this.#options;
    return { files, gitDir: this.#gitDir, owner };
  }
}

function isLarge(objects: readonly PackObject[]): boolean {
  let bytes = 0;
  for (const { data } of objects) bytes += data.length;
  return bytes > MAX_INLINE_BYTES;
}
