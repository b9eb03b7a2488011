/**
 * Publishes by way of a write log: one flush of one file that is there already, instead of three in
 * sequence. The order is the contract:
 *
 * 1. the ref is locked and compared: from here on nobody else moves it;
 * 2. the group goes to the log and is flushed; meanwhile its pack is written for git to see, and not
 *    flushed;
 * 3. the ref is renamed into place, not flushed, and the answer goes out.
 *
 * So git never sees a commit that a loss of power could take, and a process that is killed leaves a
 * whole repository. What a loss of power leaves is the log's to mend, see `wal-replay.ts`. Soon
 * after, everything since the last time becomes one pack, which is flushed, and so is the ref. The log is
 * used again then, and the packs that are replaced go a little later: readers may be about to open them.
 *
 * Where somebody else has to have the commits too, that one is asked while they go to the log, and
 * the branch moves when both have them. A crash in between leaves them in the log alone, or there
 * alone: whoever opens the repository again has to see to it.
 *
 * All of it happens where the caller is, as a write that is alone would wait longer for another thread
 * than for this. What takes a processor a while is done in the workshop: packs of large groups, and
 * groups that the log has no room for, which take the way of `Publisher`.
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
  /** Of each of the two files of the log. */
  readonly logBytes?: number;
  /** See `LogKeeperOptions`. */
  readonly graceMs?: number | undefined;
  /** Where work is done that takes longer; absent: where the caller is. */
  readonly workshop?: PackWorker;
  /** Has to resolve before anything is published; asked again when it rejected. */
  readonly prepare?: () => Promise<void>;
  /** What is asked for before may find no log; absent: it is made at once. */
  readonly openAfterMs?: number;
  /** Resolves when somebody else has the commits; where it rejects the branch stays where it is. */
  readonly agree?: Agreement | undefined;
}

/** Called while the branch is locked, or about to be, and known to be where the group begins. */
export interface Agreement {
  /** Resolves when somebody else has the commits, who then count as being on the branch. */
  agree(publication: Publication): Promise<void>;
  /** They have them, and the branch here did not move there. */
  astray(): void;
}

const LOG_BYTES = 4 * 1024 * 1024;
/** Packs of more than so many bytes are made in the workshop. */
const MOST_BYTES_HERE = 64 * 1024;

interface Logged {
  readonly log: WalFile;
  readonly record: Buffer;
  /** The pack, where it is being written already. */
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
  /** Settles when every publication asked for so far has ended. Never rejects. */
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

  /** Resolves when the log is in use, or it is known that there can be none. */
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
      // The next one may find room on the disk.
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
    this.#keepName(claim);
    this.#spares.restock();
    this.#keeper.saveWhenDue();
  }

  /** While the branch has a second name, moving it on gives up no file, which would take longer. */
  #keepName(claim: string): void {
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
      // Where somebody else has the commits, our branch has to follow.
      if (agree === undefined || agreed.status === 'rejected') throw error;
      agree.astray();
      throw new StorageError(this.#gitDir, { cause: error, moved: true });
    }
  }

  /** What was not published must not be there after a crash either. */
  async #callOff(log: WalFile, logged: PromiseSettledResult<number>): Promise<void> {
    try {
      if (logged.status === 'rejected') throw logged.reason;
      await log.callOff(logged.value);
    } catch (cause) {
      // The log is begun anew once what else it holds is saved.
      this.#keeper.saveSoon(0);
      throw new StorageError(this.#gitDir, { cause, moved: true });
    }
  }

  /** The pack of a group that is not published that way. Never rejects. */
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
  return bytes > MOST_BYTES_HERE;
}
