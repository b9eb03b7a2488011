/**
 * The embedded engine: one LMDB file in its own directory, readable only by its owner. One
 * transaction is in flight at a time, and later writes share the next one. So many writers share
 * one flush, and a failed transaction leaves a prefix, never a hole.
 */
import * as fs from 'node:fs';
import { getSystemErrorName } from 'node:util';
import { open, type RootDatabase } from 'lmdb';
import { runYielding } from '../../apimachinery/index.ts';
import { RetryDelay } from '../../concurrency/index.ts';
import { reason, StateError, unreadableState } from '../state-error.ts';
import {
  checkEngineKey,
  closedEngine,
  type EngineEntry,
  type EngineQueue,
  type EngineWrite,
  evaluateEach,
  type StateEngine,
} from './engine.ts';
import {
  DATA_FILE,
  isTruncated,
  markClosed,
  prepareFiles,
  unmarkClosed,
  wasClosed,
} from './lmdb-files.ts';
import { lmdbIsReadable } from './lmdb-probe.ts';

export interface LmdbEngineOptions {
  /**
   * Called once when a batch cannot be written (for example, the disk is full), until writing works
   * again.
   */
  readonly onError: (error: StateError) => void;
  /** Called when writing works again and nothing is missing. */
  readonly onRecovered?: () => void;
  /** Free bytes below a directory. */
  readonly freeBytes?: (directory: string) => number;
}

/** The reason of a failed write, as text and as a code such as `ENOSPC`. */
interface CommitReason {
  readonly why: string;
  readonly code: string;
}

type Database = RootDatabase<Buffer, Buffer>;

/** Estimate of a transaction without its values: rewritten pages of the tree. */
const TREE_BYTES = 4 * 1024 * 1024;
const TREE_BYTES_PER_WRITE = 1024;
/**
 * Time in ms that a transaction waits for more writes, unless a caller waits for it. This data can
 * be rebuilt from git; one transaction per change would compete with the commits, which cannot.
 */
const GATHER_MS = 50;
/**
 * Pages that transactions touched count as memory of this process until the map is closed, and the
 * file has about as many as the store has bytes.
 */
const UNMAP_AFTER_MS = 3000;
/** Between attempts of a transaction that failed: doubled each time. `flush` tries at once. */
const BACKOFF = { firstMs: 500, lastMs: 10_000 };

/** Creates the directory if it is absent. Throws StateError if it is unusable or unreadable. */
export async function openLmdbEngine(
  directory: string,
  options: LmdbEngineOptions,
): Promise<StateEngine> {
  prepareFiles(directory);
  if (isTruncated(directory)) {
    throw new StateError(
      `the state in ${directory} cannot be read: the file ${DATA_FILE} is empty; put a backup of it back, or delete the directory, which loses what is not in git`,
    );
  }
  if (!wasClosed(directory) && !(await lmdbIsReadable(directory))) {
    throw unreadableState(directory, `the file ${DATA_FILE} is damaged`);
  }
  unmarkClosed(directory);
  return new LmdbEngine(directory, openDatabase(directory), options);
}

function openDatabase(directory: string): Database {
  try {
    // Without overlappingSync a commit resolves after fsync, and a failed one rejects. noMemInit
    // stays off: it would leave old process memory in unused parts of the file.
    return open<Buffer, Buffer>(directory, {
      keyEncoding: 'binary',
      encoding: 'binary',
      overlappingSync: false,
      // If enabled, lmdb creates a promise that rejects with a failed commit and that a caller
      // cannot handle, which ends the process.
      eventTurnBatching: false,
      noSubdir: false,
      maxDbs: 1,
    });
  } catch (error) {
    throw unreadableState(directory, reason(error), error);
  }
}

class LmdbEngine implements StateEngine {
  readonly place: string;
  /** Undefined: the next access opens it. */
  #database: Database | undefined;
  readonly #options: LmdbEngineOptions & Required<Pick<LmdbEngineOptions, 'freeBytes'>>;
  /** Goes into one transaction, so only the last value of a key counts. */
  #queue: EngineQueue = new Map();
  /** True if the chain has a transaction that will take the queue. */
  #scheduled = false;
  /** Settles with the newest transaction in the chain; never rejects. */
  #tail: Promise<void> = Promise.resolve();
  /** Number of callers that wait for durability. */
  #waiting = 0;
  /** Ends the delay of the transaction that gathers writes. */
  #stopGathering: (() => void) | undefined;
  /** Reason of the last failure. Its writes are in the queue again. */
  #failure: StateError | undefined;
  #retry: NodeJS.Timeout | undefined;
  #unmapping: NodeJS.Timeout | undefined;
  readonly #delay = new RetryDelay(BACKOFF);
  #closing: Promise<void> | undefined;

  constructor(place: string, database: Database, options: LmdbEngineOptions) {
    this.place = place;
    this.#database = database;
    this.#options = { freeBytes, ...options };
  }

  *load(prefix: string): Iterable<EngineEntry> {
    const start = Buffer.from(prefix);
    try {
      for (const { key, value } of this.#open().getRange(start.length > 0 ? { start } : {})) {
        const text = key.toString();
        if (!text.startsWith(prefix)) return;
        yield [text, value];
      }
    } catch (error) {
      throw unreadableState(this.place, reason(error), error);
    }
  }

  /** Pages that were read count as memory of this process. */
  async loaded(): Promise<void> {
    await this.#unmap();
  }

  write(batch: readonly EngineWrite[]): void {
    if (this.#closing !== undefined) throw closedEngine(this.place);
    for (const { key } of batch) checkEngineKey(key);
    for (const { key, value } of batch) this.#queue.set(key, value);
    if (this.#failure === undefined) this.#schedule();
  }

  async flush(): Promise<void> {
    // A caller that needs durability retries at once.
    if (this.#failure !== undefined && this.#closing === undefined) this.#schedule();
    await this.#settled();
    if (this.#failure !== undefined) throw this.#failure;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#failure !== undefined) this.#schedule();
    await this.#settled();
    clearTimeout(this.#retry);
    await this.#unmap();
    if (this.#failure !== undefined) throw this.#failure;
    markClosed(this.place);
  }

  #open(): Database {
    this.#database ??= openDatabase(this.place);
    return this.#database;
  }

  async #unmap(): Promise<void> {
    clearTimeout(this.#unmapping);
    this.#unmapping = undefined;
    const database = this.#database;
    this.#database = undefined;
    await database?.close();
  }

  #unmapSoon(): void {
    this.#unmapping ??= setTimeout(() => {
      this.#tail = this.#tail.then(() => this.#unmap()).catch(() => undefined);
    }, UNMAP_AFTER_MS).unref();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    clearTimeout(this.#retry);
    this.#tail = this.#tail.then(() => this.#gather()).then(() => this.#commit());
  }

  /** Waits for every transaction in the chain; none of them gathers meanwhile. */
  async #settled(): Promise<void> {
    this.#waiting += 1;
    this.#stopGathering?.();
    await this.#tail;
    this.#waiting -= 1;
  }

  async #gather(): Promise<void> {
    if (this.#waiting > 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, GATHER_MS);
      this.#stopGathering = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#stopGathering = undefined;
  }

  async #commit(): Promise<void> {
    let writes = this.#queue;
    this.#queue = new Map();
    this.#scheduled = false;
    try {
      const made = await runYielding(evaluateEach(writes));
      writes = made;
      this.#checkRoom(made);
      const database = this.#open();
      await database.batch(() => put(database, made));
      this.#unmapSoon();
      this.#succeeded();
    } catch (error) {
      this.#requeue(writes);
      const { why, code } = await commitReason(error);
      this.#failed(
        new StateError(
          `the state in ${this.place} cannot be written: ${why}; make room on the disk or repair it`,
          { cause: error, code },
        ),
      );
    }
  }

  #succeeded(): void {
    if (this.#failure === undefined) return;
    this.#failure = undefined;
    this.#delay.reset();
    this.#options.onRecovered?.();
  }

  #failed(failure: StateError): void {
    const isNews = this.#failure === undefined;
    this.#failure = failure;
    if (isNews) this.#options.onError(failure);
    if (this.#closing !== undefined) return;
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.#schedule(), this.#delay.next()).unref();
  }

  /** A newer write of the same key wins. */
  #requeue(writes: EngineQueue): void {
    const newer = this.#queue;
    this.#queue = new Map([...writes, ...newer]);
  }

  /**
   * A write that the disk refuses makes lmdb 3.5 overrun a buffer, which can end the process. So a
   * full disk is detected before. The estimate is high on purpose.
   */
  #checkRoom(writes: ReadonlyMap<string, Buffer | undefined>): void {
    let needed = TREE_BYTES + writes.size * TREE_BYTES_PER_WRITE;
    for (const value of writes.values()) needed += 2 * (value?.length ?? 0);
    const free = this.#options.freeBytes(this.place);
    if (free >= needed) return;
    const problem = `${free} bytes are free and ${needed} may be needed`;
    throw Object.assign(new Error(problem), { code: 'ENOSPC' });
  }
}

function put(database: Database, writes: ReadonlyMap<string, Buffer | undefined>): void {
  // The promise of the batch covers those of its parts, which reject as well.
  for (const [key, value] of writes) {
    const id = Buffer.from(key);
    const done = value === undefined ? database.remove(id) : database.put(id, value);
    done.catch(() => undefined);
  }
}

/**
 * LMDB gives the reason of a failed commit in a separate promise, which must be handled and may
 * settle a moment later.
 */
function commitReason(error: unknown): Promise<CommitReason> {
  const commitError =
    error instanceof Error && 'commitError' in error ? error.commitError : undefined;
  const general = new Promise<CommitReason>((resolve) =>
    setImmediate(() => resolve(reasonOf(error))),
  );
  if (!(commitError instanceof Promise)) return general;
  return Promise.race([commitError.then(() => general, reasonOf), general]);
}

function freeBytes(directory: string): number {
  const { bavail, bsize } = fs.statfsSync(directory);
  return bavail * bsize;
}

/** Maps the error number of LMDB to the code of the operating system. */
function reasonOf(error: unknown): CommitReason {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (typeof code === 'string') return { why: reason(error), code };
  // Error numbers of LMDB itself are negative.
  const isErrno = typeof code === 'number' && code > 0;
  return { why: reason(error), code: isErrno ? getSystemErrorName(-code) : 'EIO' };
}
