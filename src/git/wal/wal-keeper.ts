/**
 * The WAL in use, and the schedule of its checkpoints: after a second, after many batches, or when
 * half of a segment is used, whichever comes first. New batches go to the other segment meanwhile.
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
  /** Size of each of the two segments. */
  readonly logBytes: number;
  /** Delay between the replacement of a pack and its removal, in milliseconds. Default: 1,000. */
  readonly graceMs?: number | undefined;
  /** Runs `work` between two publications: a batch belongs to one segment. */
  between(work: () => void): Promise<void>;
}

/** Free disk space that is required for a WAL, in segments. Scarce space is left for the repository. */
const REQUIRED_FREE_SEGMENTS = 16;
/** Short-lived packs that do not yet slow git down. */
const MAX_SHORT_LIVED_PACKS = 64;
const CHECKPOINT_AFTER_MS = 1_000;
const RETRY_AFTER_MS = 2_000;
/**
 * A git process that misses an object scans the pack directory once, and opens the indexes of that
 * listing later. It misses both a pack that was added after the listing and a pack that was removed
 * before its index was opened. Therefore a replaced pack must outlive the scans that started before
 * the new pack existed.
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
  /** Tips of the batches that only the active segment holds, and that only the inactive one holds. */
  #unsaved: string[] = [];
  #saved: readonly string[] = [];
  #saving: Promise<boolean> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Batches whose short-lived packs are replaced, oldest first. */
  #replaced: Replaced[] = [];
  #still = 0;
  #isClosing = false;

  constructor(options: WalKeeperOptions) {
    this.#options = options;
  }

  /** Undefined: this repository has no WAL. */
  get log(): WalFile | undefined {
    return this.#log;
  }

  /** Creates the WAL. Never rejects: without one, publications are written as packs. */
  async open(): Promise<void> {
    const { files, gitDir, ref, owner, logBytes: bytes } = this.#options;
    try {
      const { bavail, bsize } = await statfs(gitDir);
      if (bavail * bsize < REQUIRED_FREE_SEGMENTS * bytes) return;
      this.#log = await WalFile.create({ files, gitDir, ref, owner, bytes });
    } catch {
      // For example, the disk is full.
    }
  }

  /** Call before a batch is appended to the WAL. */
  adds(tip: string): void {
    this.#unsaved.push(tip);
  }

  /** Call when an appended batch was not published. */
  forget(tip: string): void {
    this.#unsaved = this.#unsaved.filter((other) => other !== tip);
  }

  /** Checkpoints, then runs `work`, which reads all packs. Short-lived packs stay until it ends. */
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
    if (this.#unsaved.length >= MAX_SHORT_LIVED_PACKS || isMuch) void this.save();
    else this.saveSoon(CHECKPOINT_AFTER_MS);
  }

  saveSoon(ms: number): void {
    if (ms === 0) clearTimeout(this.#timer);
    else if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => void this.save(), ms).unref();
  }

  /**
   * Checkpoints the batches that only the WAL holds. Returns false if that failed: the batches stay in
   * the WAL and a retry is scheduled. Never rejects.
   */
  save(): Promise<boolean> {
    this.#saving ??= this.#save().finally(() => {
      this.#saving = undefined;
    });
    return this.#saving;
  }

  /** Call when no publication is running. Batches that cannot be checkpointed stay in the WAL. */
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

  /** Does nothing while `whileStill` runs: a reader of all packs would miss the removed ones. */
  async #removeReplaced(): Promise<void> {
    const graceMs = this.#isClosing ? 0 : (this.#options.graceMs ?? GRACE_MS);
    const until = performance.now() - graceMs;
    const due = this.#replaced.filter(({ since }) => since <= until).map(({ tip }) => tip);
    if (this.#still === 0 && due.length > 0) {
      await this.#options.workshop.remove(due);
      this.#replaced = this.#replaced.slice(due.length);
    }
    if (this.#replaced.length > 0 && Number.isFinite(graceMs)) this.saveSoon(CHECKPOINT_AFTER_MS);
  }
}
