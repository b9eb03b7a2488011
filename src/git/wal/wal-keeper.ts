/**
 * The WAL in use, and the schedule of its checkpoints: after a second, after many batches, or when
 * half of a segment is used, whichever comes first. New batches go to the other segment meanwhile.
 */
import { statfs } from 'node:fs/promises';
import type { DurableFiles } from '../publication/durable-files.ts';
import type { PackWorker } from '../publication/pack-worker.ts';
import { WalFile, walPaths } from './wal-file.ts';

export interface WalKeeperOptions {
  readonly gitDir: string;
  readonly ref: string;
  readonly owner: string;
  readonly files: DurableFiles;
  readonly packWorker: PackWorker;
  /** Size of each of the two segments. */
  readonly segmentBytes: number;
  /** Delay between the replacement of a pack and its removal, in milliseconds. Default: 1,000. */
  readonly graceMs?: number | undefined;
  /** Runs `work` between two publications: a batch belongs to one segment. */
  betweenPublications(work: () => void): Promise<void>;
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
  #wal: WalFile | undefined;
  /** Tips of the batches that only the active segment holds, and that only the inactive one holds. */
  #active: string[] = [];
  #inactive: readonly string[] = [];
  #running: Promise<boolean> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Batches whose short-lived packs are replaced, oldest first. */
  #replaced: Replaced[] = [];
  #holds = 0;
  /** The next checkpoint does not continue the pack of the one before. */
  #startsPack = false;
  #isClosing = false;

  constructor(options: WalKeeperOptions) {
    this.#options = options;
  }

  /** Undefined: this repository has no WAL. */
  get wal(): WalFile | undefined {
    return this.#wal;
  }

  /** Creates the WAL. Never rejects: without one, publications are written as packs. */
  async open(): Promise<void> {
    const { files, gitDir, ref, owner, segmentBytes: bytes } = this.#options;
    try {
      const { bavail, bsize } = await statfs(gitDir);
      if (bavail * bsize < REQUIRED_FREE_SEGMENTS * bytes) return;
      this.#wal = await WalFile.create({ files, gitDir, ref, owner, bytes });
    } catch {
      // For example, the disk is full.
    }
  }

  /** Call before a batch is appended to the WAL. */
  willAppend(tip: string): void {
    this.#active.push(tip);
  }

  /** Call when an appended batch was not published. */
  notPublished(tip: string): void {
    this.#active = this.#active.filter((other) => other !== tip);
  }

  /** Checkpoints, then runs `work`, which reads all packs. Short-lived packs stay until it ends. */
  async holdPacks<T>(work: () => Promise<T>): Promise<T> {
    this.#holds += 1;
    try {
      // Neither this checkpoint nor the next one continues a pack that `work` may replace.
      this.#startsPack = true;
      await this.checkpoint();
      this.#startsPack = true;
      return await work();
    } finally {
      this.#holds -= 1;
    }
  }

  checkpointWhenDue(): void {
    const isHalfFull = (this.#wal?.used ?? 0) > this.#options.segmentBytes / 2;
    if (this.#active.length >= MAX_SHORT_LIVED_PACKS || isHalfFull) void this.checkpoint();
    else this.checkpointSoon(CHECKPOINT_AFTER_MS);
  }

  checkpointSoon(ms: number): void {
    if (ms === 0) clearTimeout(this.#timer);
    else if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => void this.checkpoint(), ms).unref();
  }

  /**
   * Checkpoints the batches that only the WAL holds. Returns false if that failed: the batches stay in
   * the WAL and a retry is scheduled. Never rejects.
   */
  checkpoint(): Promise<boolean> {
    this.#running ??= this.#checkpoint().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Call when no publication is running. Batches that cannot be checkpointed stay in the WAL. */
  async close(): Promise<void> {
    this.#isClosing = true;
    const isCheckpointed = (await this.checkpoint()) && (await this.checkpoint());
    clearTimeout(this.#timer);
    const wal = this.#wal;
    this.#wal = undefined;
    if (isCheckpointed) await wal?.remove().catch(() => undefined);
    else await wal?.close();
  }

  async #checkpoint(): Promise<boolean> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#options.betweenPublications(() => this.#switchSegment());
    const wal = this.#wal;
    try {
      if (wal?.isInactiveUsed === true) await this.#checkpointInactive(wal);
      await this.#removeReplaced();
      return true;
    } catch {
      this.checkpointSoon(RETRY_AFTER_MS);
      return false;
    }
  }

  async #checkpointInactive(wal: WalFile): Promise<void> {
    const { packWorker, gitDir } = this.#options;
    const tips = this.#inactive;
    const startsPack = this.#startsPack;
    this.#startsPack = false;
    await packWorker.checkpoint({ path: walPaths(gitDir)[wal.inactive], tips, startsPack });
    this.#inactive = [];
    const since = performance.now();
    this.#replaced.push(...tips.map((tip) => ({ tip, since })));
    await wal.release();
  }

  #switchSegment(): void {
    const wal = this.#wal;
    if (wal === undefined || (this.#active.length === 0 && !wal.isBroken)) return;
    if (!wal.switchSegment()) return;
    this.#inactive = this.#active;
    this.#active = [];
  }

  /** Does nothing while `holdPacks` runs: a reader of all packs would miss the removed ones. */
  async #removeReplaced(): Promise<void> {
    const graceMs = this.#isClosing ? 0 : (this.#options.graceMs ?? GRACE_MS);
    const until = performance.now() - graceMs;
    const due = this.#replaced.filter(({ since }) => since <= until).map(({ tip }) => tip);
    if (this.#holds === 0 && due.length > 0) {
      await this.#options.packWorker.removeReplaced(due);
      this.#replaced = this.#replaced.slice(due.length);
    }
    if (this.#replaced.length > 0 && Number.isFinite(graceMs))
      this.checkpointSoon(CHECKPOINT_AFTER_MS);
  }
}
