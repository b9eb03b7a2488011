/**
 * The write log in use, and when what it holds is brought to where git keeps it: after a second, many
 * groups or half a log, whichever is first. One of its two files is written to meanwhile.
 */
import { statfs } from 'node:fs/promises';
import type { DurableFiles } from '../publication/durable-files.ts';
import type { PackWorker } from '../publication/pack-worker.ts';
import { logPaths, WalFile } from './wal-file.ts';

export interface WalKeeperOptions {
  readonly gitDir: string;
  readonly ref: string;
  readonly owner: string;
  readonly files: DurableFiles;
  readonly workshop: PackWorker;
  /** Of each of the two files of the log. */
  readonly logBytes: number;
  /** Time that packs stay after another one replaced them, in milliseconds. Default: 1,000. */
  readonly graceMs?: number | undefined;
  /** Runs something when no publication is under way: a group is of one file or of the other. */
  between(work: () => void): Promise<void>;
}

/** On a disk with less room than so many logs, the room is better left to what has to grow. */
const ROOM_FOR = 16;
/** So many packs that are soon replaced do not slow git down. */
const MOST_PACKS = 64;
const SAVE_AFTER_MS = 1_000;
const RETRY_AFTER_MS = 2_000;
/**
 * A git process that finds an object missing scans the pack directory once, and opens the indexes that
 * it listed after that. A pack that came after the listing, and one that went before its index was
 * opened, are both missed: the replaced pack has to outlive the scans that began before the new one.
 */
const GRACE_MS = 1_000;

interface Replaced {
  readonly tip: string;
  /** Milliseconds of `performance.now()`. */
  readonly since: number;
}

export class WalKeeper {
  readonly #options: WalKeeperOptions;
  #log: WalFile | undefined;
  /** Groups that only the file in use holds, and that only the other one does, by their tips. */
  #unsaved: string[] = [];
  #saved: readonly string[] = [];
  #saving: Promise<boolean> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Groups whose packs are replaced, the oldest first. */
  #replaced: Replaced[] = [];
  #still = 0;
  #isClosing = false;

  constructor(options: WalKeeperOptions) {
    this.#options = options;
  }

  /** Undefined: there is none. */
  get log(): WalFile | undefined {
    return this.#log;
  }

  /** Never rejects: where no log can be made, there is none. */
  async open(): Promise<void> {
    const { files, gitDir, ref, owner, logBytes: bytes } = this.#options;
    try {
      const { bavail, bsize } = await statfs(gitDir);
      if (bavail * bsize < ROOM_FOR * bytes) return;
      this.#log = await WalFile.create({ files, gitDir, ref, owner, bytes });
    } catch {
      // A full disk, say.
    }
  }

  /** The group is about to be added to the log. */
  adds(tip: string): void {
    this.#unsaved.push(tip);
  }

  /** What was added did not take effect. */
  forget(tip: string): void {
    this.#unsaved = this.#unsaved.filter((other) => other !== tip);
  }

  /** Groups stay where they are while work goes on that looks at all packs. */
  async whileStill<T>(work: () => Promise<T>): Promise<T> {
    this.#still += 1;
    try {
      await this.save();
      return await work();
    } finally {
      this.#still -= 1;
    }
  }

  saveWhenDue(): void {
    const isMuch = (this.#log?.used ?? 0) > this.#options.logBytes / 2;
    if (this.#unsaved.length >= MOST_PACKS || isMuch) void this.save();
    else this.saveSoon(SAVE_AFTER_MS);
  }

  saveSoon(ms: number): void {
    if (ms === 0) clearTimeout(this.#timer);
    else if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => void this.save(), ms).unref();
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

  /** To be called when nothing is under way; what could not be saved stays in the log. */
  async close(): Promise<void> {
    this.#isClosing = true;
    const isSaved = (await this.save()) && (await this.save());
    clearTimeout(this.#timer);
    const log = this.#log;
    this.#log = undefined;
    if (isSaved) await log?.remove().catch(() => undefined);
    else await log?.close();
  }

  async #save(): Promise<boolean> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#options.between(() => this.#turn());
    const log = this.#log;
    try {
      if (log?.isOtherUsed === true) await this.#saveOther(log);
      await this.#removeReplaced();
      return true;
    } catch {
      this.saveSoon(RETRY_AFTER_MS);
      return false;
    }
  }

  async #saveOther(log: WalFile): Promise<void> {
    const { workshop, gitDir } = this.#options;
    const tips = this.#saved;
    await workshop.save({ path: logPaths(gitDir)[log.other], tips });
    this.#saved = [];
    const since = performance.now();
    this.#replaced.push(...tips.map((tip) => ({ tip, since })));
    await log.release();
  }

  #turn(): void {
    const log = this.#log;
    if (log === undefined || (this.#unsaved.length === 0 && !log.isBroken)) return;
    if (!log.turn()) return;
    this.#saved = this.#unsaved;
    this.#unsaved = [];
  }

  /** Readers of all packs would miss one. */
  async #removeReplaced(): Promise<void> {
    const graceMs = this.#isClosing ? 0 : (this.#options.graceMs ?? GRACE_MS);
    const until = performance.now() - graceMs;
    const due = this.#replaced.filter(({ since }) => since <= until).map(({ tip }) => tip);
    if (this.#still === 0 && due.length > 0) {
      await this.#options.workshop.remove(due);
      this.#replaced = this.#replaced.slice(due.length);
    }
    if (this.#replaced.length > 0 && Number.isFinite(graceMs)) this.saveSoon(SAVE_AFTER_MS);
  }
}
