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
 * whole repository. What a loss of power leaves is the log's to mend, see `log-replay.ts`. Soon
 * after, everything since the last time becomes one pack, which is flushed, and so is the ref; the
 * packs that it replaces go, then the log is used again.
 *
 * Groups that the log has no room for take the way of `Publisher`.
 */
import { statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { dropClaim, newClaim, takeLock, writeClaimSoon } from './claim.ts';
import { type DurableFiles, writeDurably, writeSoon } from './durable-files.ts';
import { errorCode, StorageError } from './git-error.ts';
import { packsOfMultiPackIndex } from './multi-pack-index.ts';
import { packFolder, packNames, shortLivedNames } from './pack-names.ts';
import { buildPack, type PackObject } from './pack-writer.ts';
import {
  asStorageError,
  type Publication,
  Publisher,
  type PublisherOptions,
  type Publishing,
  renameIntoPlace,
} from './publisher.ts';
import { readRef } from './ref-file.ts';
import { HeadMovedError } from './repository.ts';
import { WriteLog } from './write-log.ts';

export interface LoggedPublisherOptions extends Omit<PublisherOptions, 'gate'> {
  /** Of each of the two files of the log. */
  readonly logBytes?: number;
}

const LOG_BYTES = 4 * 1024 * 1024;
/** On a disk with less room than so many logs, the room is better left to what has to grow. */
const ROOM_FOR = 16;
/** So many packs that are soon replaced do not slow git down. */
const MOST_PACKS = 64;
const SAVE_AFTER_MS = 1_000;
const RETRY_AFTER_MS = 2_000;

export class LoggedPublisher implements Publishing {
  readonly #gitDir: string;
  readonly #ref: string;
  readonly #options: LoggedPublisherOptions;
  readonly #logBytes: number;
  readonly #plain: Publisher;
  readonly #opening: Promise<void>;
  #log: WriteLog | undefined;
  /** Settles when every publication asked for so far has ended. Never rejects. */
  #last: Promise<unknown> = Promise.resolve();
  #tidied: Promise<unknown> = Promise.resolve();
  #running = 0;
  /** What only the log in use holds. */
  #unsaved: Publication[] = [];
  /** What only the other log holds. */
  #saved: readonly Publication[] = [];
  #saving: Promise<boolean> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Commits whose packs are replaced. */
  #replaced: string[] = [];
  #still = 0;

  constructor(where: { gitDir: string; ref: string }, options: LoggedPublisherOptions) {
    this.#gitDir = where.gitDir;
    this.#ref = where.ref;
    this.#options = options;
    this.#logBytes = options.logBytes ?? LOG_BYTES;
    this.#plain = new Publisher(where, options);
    this.#opening = this.#open();
  }

  /** Resolves when the log is in use, or it is known that there can be none. */
  async opened(): Promise<void> {
    await this.#opening;
  }

  publish(publication: Publication): Promise<void> {
    const before = this.#last;
    this.#running += 1;
    const done = this.#publishAfter(publication, before).finally(() => {
      this.#running -= 1;
    });
    this.#last = done.catch(() => undefined);
    return done;
  }

  async settled(): Promise<void> {
    await this.#opening;
    await this.#last;
    await this.#tidied;
    await this.#plain.settled();
    const isSaved = (await this.save()) && (await this.save());
    clearTimeout(this.#timer);
    const log = this.#log;
    this.#log = undefined;
    if (isSaved) await log?.remove().catch(() => undefined);
    else await log?.close();
  }

  async whileStill<T>(work: () => Promise<T>): Promise<T> {
    this.#still += 1;
    try {
      await this.save();
      return await work();
    } finally {
      this.#still -= 1;
    }
  }

  /**
   * Brings what only the log holds to where git keeps it. False when that failed; it is tried again
   * then, and the log keeps it. Never rejects.
   */
  save(): Promise<boolean> {
    this.#saving ??= this.#save().finally(() => {
      this.#saving = undefined;
    });
    return this.#saving;
  }

  async #open(): Promise<void> {
    const { files, owner } = this.#options;
    const [gitDir, ref] = [this.#gitDir, this.#ref];
    try {
      const { bavail, bsize } = await statfs(gitDir);
      if (bavail * bsize < ROOM_FOR * this.#logBytes) return;
      this.#log = await WriteLog.create({ files, gitDir, ref, owner, bytes: this.#logBytes });
    } catch {
      // A full disk, say: then there is none.
    }
  }

  async #publishAfter(publication: Publication, before: Promise<unknown>): Promise<void> {
    const ahead = this.#running > 1 ? this.#writePack(publication) : undefined;
    ahead?.catch(() => undefined);
    await before;
    const log = this.#log;
    const record = log?.record(publication);
    if (log === undefined || record === undefined) {
      if (log !== undefined) void this.save();
      await this.#discard(publication, ahead);
      await this.#plain.publish(publication);
      return;
    }
    await this.#publishLogged(publication, { log, record, ahead });
  }

  async #publishLogged(
    publication: Publication,
    by: { log: WriteLog; record: Buffer; ahead: Promise<void> | undefined },
  ): Promise<void> {
    const { files, owner, lockPatienceMs: patienceMs } = this.#options;
    const gitDir = this.#gitDir;
    const ref = join(gitDir, this.#ref);
    const file = `${ref}.lock`;
    const claim = newClaim(gitDir, owner);
    let isLocked = false;
    try {
      await writeClaimSoon(files, claim, publication.tip);
      await takeLock(files, claim, { file, gitDir, patienceMs });
      isLocked = true;
      await this.#compare(publication.parent);
      await this.#writeAndMove(publication, { ...by, file, ref });
      isLocked = false;
    } catch (error) {
      if (isLocked) await files.remove(file).catch(() => undefined);
      await this.#discard(publication, by.ahead);
      await dropClaim(files, claim);
      throw asStorageError(error, { place: gitDir, moved: false });
    }
    // Nobody need wait for it.
    this.#tidied = Promise.all([this.#tidied, setImmediate().then(() => dropClaim(files, claim))]);
    this.#saveWhenDue();
  }

  async #compare(expected: string | undefined): Promise<void> {
    const actual = await readRef(this.#gitDir, this.#ref);
    if (actual !== expected) throw new HeadMovedError(expected, actual);
  }

  async #writeAndMove(
    publication: Publication,
    by: {
      log: WriteLog;
      record: Buffer;
      ahead: Promise<void> | undefined;
      file: string;
      ref: string;
    },
  ): Promise<void> {
    const { log, record, file, ref } = by;
    this.#unsaved.push(publication);
    const logging = log.append(record);
    const [logged, seen] = await Promise.allSettled([
      logging,
      by.ahead ?? this.#writePack(publication),
    ]);
    try {
      if (logged.status === 'rejected') throw logged.reason;
      if (seen.status === 'rejected') throw seen.reason;
      await renameIntoPlace(this.#options.files, file, ref);
    } catch (error) {
      this.#unsaved = this.#unsaved.filter((other) => other !== publication);
      await this.#removePack(publication.tip);
      await this.#callOff(log, logged);
      throw error;
    }
  }

  /** What was not published must not be there after a crash either. */
  async #callOff(log: WriteLog, logged: PromiseSettledResult<number>): Promise<void> {
    try {
      if (logged.status === 'rejected') throw logged.reason;
      await log.callOff(logged.value);
    } catch (cause) {
      // The log is begun anew once what else it holds is saved.
      this.#saveSoon(0);
      throw new StorageError(this.#gitDir, { cause, moved: true });
    }
  }

  async #writePack(publication: Publication): Promise<void> {
    const { files, owner } = this.#options;
    const { pack, index } = buildPack(publication.objects);
    const names = shortLivedNames(this.#gitDir, publication.tip, owner);
    const write = (): Promise<void> => writeSoon(files, names.pack, { bytes: pack, mode: 0o444 });
    await write().catch(async (error: unknown) => {
      if (errorCode(error) !== 'EEXIST') throw error;
      // Of an attempt that failed.
      await this.#removePack(publication.tip);
      await write();
    });
    try {
      await writeSoon(files, names.newIndex, { bytes: index, mode: 0o444 });
      await files.rename(names.newIndex, names.index);
    } catch (error) {
      await files.remove(names.newIndex).catch(() => undefined);
      throw error;
    }
  }

  /** The pack that was written ahead, if one was. Never rejects. */
  async #discard(publication: Publication, ahead: Promise<void> | undefined): Promise<void> {
    if (ahead === undefined) return;
    await ahead.catch(() => undefined);
    await this.#removePack(publication.tip);
  }

  /** Never rejects. */
  async #removePack(tip: string): Promise<void> {
    const { files, owner } = this.#options;
    const { pack, index } = shortLivedNames(this.#gitDir, tip, owner);
    await files.remove(index).catch(() => undefined);
    await files.remove(pack).catch(() => undefined);
  }

  #saveWhenDue(): void {
    const isMuch = (this.#log?.used ?? 0) > this.#logBytes / 2;
    if (this.#unsaved.length >= MOST_PACKS || isMuch) void this.save();
    else this.#saveSoon(SAVE_AFTER_MS);
  }

  #saveSoon(ms: number): void {
    if (ms === 0) clearTimeout(this.#timer);
    else if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => void this.save(), ms).unref();
  }

  async #save(): Promise<boolean> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    // A group is of one log or of the other, and so between two of them.
    const turning = this.#last.then(() => this.#turn());
    this.#last = turning;
    await turning;
    const log = this.#log;
    if (log?.isOtherUsed !== true) return true;
    try {
      const saved = this.#saved;
      if (saved.length > 0) await savePublications(this.#options.files, this.#place(), saved);
      this.#saved = [];
      this.#replaced.push(...saved.map(({ tip }) => tip));
      await this.#removeReplaced();
      await log.release();
      return true;
    } catch {
      this.#saveSoon(RETRY_AFTER_MS);
      return false;
    }
  }

  #turn(): void {
    const log = this.#log;
    if (log === undefined || (this.#unsaved.length === 0 && !log.isBroken)) return;
    if (!log.turn()) return;
    this.#saved = this.#unsaved;
    this.#unsaved = [];
  }

  #place(): { gitDir: string; ref: string; owner: string } {
    return { gitDir: this.#gitDir, ref: this.#ref, owner: this.#options.owner };
  }

  /** Who looks at all packs would miss one, and an index over many packs may name it. */
  async #removeReplaced(): Promise<void> {
    if (this.#still > 0) return;
    const named = await packsOfMultiPackIndex(packFolder(this.#gitDir));
    for (const tip of this.#replaced) {
      if (!named.has(`pack-gitplane-${tip}`)) await this.#removePack(tip);
    }
    this.#replaced = [];
  }
}

/** Publications as one pack, and the branch as it is, on stable storage. */
export async function savePublications(
  files: DurableFiles,
  { gitDir, ref, owner }: { gitDir: string; ref: string; owner: string },
  publications: readonly Publication[],
): Promise<void> {
  const pack = buildPack(objectsOf(publications));
  const names = packNames(gitDir, pack.checksum, owner);
  await Promise.all([
    writeDurably(files, names.newPack, { bytes: pack.pack, mode: 0o444 }),
    writeDurably(files, names.newIndex, { bytes: pack.index, mode: 0o444 }),
  ]);
  await files.rename(names.newPack, names.pack);
  await files.rename(names.newIndex, names.index);
  await files.syncDirectory(packFolder(gitDir));
  await syncRef(files, join(gitDir, ref));
}

/** Newest first, as in each of them, and once each: a base comes before what was made from it. */
function objectsOf(publications: readonly Publication[]): PackObject[] {
  const objects = new Map<string, PackObject>();
  for (const publication of publications.toReversed()) {
    for (const object of publication.objects) {
      if (!objects.has(object.id)) objects.set(object.id, object);
    }
  }
  return [...objects.values()];
}

async function syncRef(files: DurableFiles, ref: string): Promise<void> {
  await files.syncFile(ref).catch((error: unknown) => {
    // Somebody else removed it, or moved it to packed-refs, which git flushes.
    if (errorCode(error) !== 'ENOENT') throw error;
  });
  await files.syncDirectory(dirname(ref));
}
