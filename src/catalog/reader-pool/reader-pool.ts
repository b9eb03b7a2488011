/**
 * Reads many files on all processors, with the same results as the single reader. The caller reads
 * failed files again and reports the error.
 */

import { readdir, stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { type Counter, WorkerChannel } from '../../concurrency/index.ts';
import { type GitContext, gitMemoryMib, packFolder } from '../../git/index.ts';
import type { DocumentEncryption } from '../encryption.ts';
import type { FileEntry } from '../file.ts';
import type { LargeFile, Readers, WantedFile } from '../file-reader.ts';
import { LargeFiles } from './large-files.ts';
import { PrefetchedFiles, prefetchListing } from './prefetched-files.ts';
import { type Delivery, type Order, type ReaderSetup, unpackFiles } from './protocol.ts';
import { startReader } from './start-reader.ts';

/** Bytes of a pack index per object, and of an empty one (gitformat-pack). */
const INDEX_ENTRY = 28;

const EMPTY_INDEX = 1072;

/**
 * Arena for buffers of similar lifetime. A block of this size is a separate memory mapping, which
 * the system gets back as a whole when none of it is used any more. Small allocations of threads
 * stay resident after the threads have ended, and small blocks of the main thread fragment the
 * heap.
 */
const SLAB_BYTES = 16 * 1024 * 1024;

/**
 * Each worker loads and compiles the readers of manifests. The main thread reads fewer files in
 * that time, with less memory.
 */
const MIN_FILES = 20_000;
const FILES_PER_BATCH = 256;
/** Limits of one edit, for which later writes wait. A document has no more than MAX_LEXEMES. */
const EDIT_LIMITS = { memoryMib: 512, deadlineMs: 30_000 };
/** An additional worker pays off for this many files. */
const FILES_PER_WORKER = 10_000;
/** Batches per worker, so that git fetches the next one meanwhile. */
const BATCHES_PER_WORKER = 2;

export interface ReaderPoolOptions extends Pick<ReaderSetup, 'apiGroup' | 'under' | 'secrets'> {
  readonly workers?: number;
  readonly filesPerWorker?: number;
  readonly minFiles?: number;
  readonly minFilesAhead?: number;
  /** Counts the files that are read. */
  readonly counter?: Counter;
}

type Take = Parameters<Readers['read']>[2];
/** `at`: index in the request. */
type TakeAt = (file: WantedFile, entry: FileEntry, at: number) => void;

interface Job {
  /** Index of its first file in the request. */
  readonly start: number;
  readonly files: readonly WantedFile[];
  readonly take: TakeAt;
  readonly settle: (left: readonly WantedFile[]) => void;
}

type Member = WorkerChannel<Order, Delivery>;

export class ReaderPool implements Readers {
  readonly #options: ReaderPoolOptions;
  readonly #members = new Set<Member>();
  readonly #waiting: Job[] = [];
  #ahead: Promise<PrefetchedFiles> | undefined;
  #closed = false;
  #isReading = false;
  #slabs = new BufferArena();
  readonly #large: LargeFiles;
  /** A thread of its own: an API write does not wait for the large files of a push. */
  readonly edits: LargeFiles;

  constructor(options: ReaderPoolOptions) {
    this.#options = options;
    this.#large = new LargeFiles(() => this.#setup());
    this.edits = new LargeFiles(() => this.#setup(), EDIT_LIMITS);
  }

  /**
   * Resolves to the contents of the files, in their order; a file that exceeded a limit has a
   * problem.
   */
  readLarge(files: readonly LargeFile[]): Promise<FileEntry[]> {
    return this.#large.read(files);
  }

  /** Rejects when the file exceeds a limit. */
  encryptionIn(content: Buffer): Promise<readonly DocumentEncryption[]> {
    return this.#large.encryptionIn(content);
  }

  /**
   * Begins to read the files of a branch before its history is known: the newest commit has most of
   * the files that will be requested. It is a guess: missing files are read on demand.
   */
  expect(context: GitContext, ref: string): void {
    this.#ahead ??= this.#readAhead(context, ref);
  }

  /** Drops prefetched files that were not requested. */
  settle(): void {
    this.#ahead = undefined;
  }

  /**
   * Calls back once for each file that it could read, in no particular order, and resolves to those
   * that it could not: all of them if they are too few.
   */
  async read(
    context: GitContext,
    files: readonly WantedFile[],
    take: Take,
  ): Promise<readonly WantedFile[]> {
    const { minFiles = MIN_FILES } = this.#options;
    const ahead = await this.#ahead;
    const left = ahead === undefined ? files : files.filter((file) => !ahead.give(file, take));
    return left.length < minFiles ? left : await this.#readAll(context, left, take);
  }

  async #readAhead(context: GitContext, ref: string): Promise<PrefetchedFiles> {
    const { under, minFilesAhead = MIN_FILES } = this.#options;
    let ahead = new PrefetchedFiles();
    try {
      const most = await packedObjects(context.gitDir);
      if (most < minFilesAhead) return ahead;
      // Workers load while the listing is read; both take about as long.
      this.#hireFor(context, most);
      const files = await prefetchListing(context, ref, under);
      if (files.length < minFilesAhead) return ahead;
      ahead = new PrefetchedFiles(files);
      this.#options.counter?.expect(files.length);
      await this.#readAll(context, files, (_file, entry, at) => ahead.add(entry, at));
    } catch {
      // The later read of the repository reports the error.
    } finally {
      // Workers started for a branch with few files.
      if (!this.#isReading) this.#dismiss();
    }
    return ahead;
  }

  async #readAll(
    context: GitContext,
    files: readonly WantedFile[],
    take: TakeAt,
  ): Promise<readonly WantedFile[]> {
    // One read at a time: a second one would only compete for the processors.
    if (this.#closed || this.#isReading) return files;
    this.#hireFor(context, files.length);
    if (this.#members.size === 0) return files;
    this.#isReading = true;
    const jobs: Promise<readonly WantedFile[]>[] = [];
    for (let start = 0; start < files.length; start += FILES_PER_BATCH) {
      const batch = files.slice(start, start + FILES_PER_BATCH);
      const job = { start, files: batch, take };
      jobs.push(new Promise((settle) => void this.#waiting.push({ ...job, settle })));
    }
    for (const member of this.#members) this.#occupy(member);
    const left = (await Promise.all(jobs)).flat();
    this.#isReading = false;
    this.#slabs = new BufferArena();
    // Their memory is worth more than their compiled code.
    this.#dismiss();
    return left;
  }

  close(): void {
    this.#closed = true;
    this.#large.close();
    this.edits.close();
    this.settle();
    this.#dismiss();
  }

  #dismiss(): void {
    for (const member of this.#members) {
      void member.terminate();
      this.#lose(member);
    }
  }

  #hireFor(context: GitContext, files: number): void {
    const { workers = availableParallelism(), filesPerWorker = FILES_PER_WORKER } = this.#options;
    if (this.#closed || workers < 2) return;
    const wanted = Math.min(workers, Math.ceil(files / filesPerWorker));
    while (this.#members.size < wanted) this.#hire(context);
  }

  #hire(context: GitContext): void {
    const member: Member = new WorkerChannel({
      name: 'the file reader',
      start: () => startReader({ ...this.#setup(), context }),
      lost: () => this.#lose(member),
    });
    member.start();
    this.#members.add(member);
  }

  #setup(): ReaderSetup {
    const { apiGroup, under, secrets } = this.#options;
    return { apiGroup, under, gitMemoryMib: gitMemoryMib(), ...(secrets && { secrets }) };
  }

  #occupy(member: Member): void {
    while (member.pending < BATCHES_PER_WORKER) {
      const job = this.#waiting.shift();
      if (job === undefined) return;
      member.ask({ files: job.files }).then(
        ({ packed }) => this.#accept(member, job, packed),
        // The main thread reads the files again; an error that counts shows there.
        () => job.settle(job.files),
      );
    }
  }

  #accept(member: Member, { start, files, take, settle }: Job, packed: Delivery['packed']): void {
    if (this.#members.has(member)) this.#occupy(member);
    if (packed === undefined) {
      settle(files);
      return;
    }
    this.#options.counter?.advance(files.length);
    const manifests = this.#slabs.place(packed.manifests);
    for (const [i, entry] of unpackFiles(files, { ...packed, manifests }).entries()) {
      const file = files[i];
      if (file !== undefined) take(file, entry, start + i);
    }
    settle([]);
  }

  #lose(member: Member): void {
    if (!this.#members.delete(member)) return;
    if (this.#members.size > 0) return;
    for (const { files, settle } of this.#waiting.splice(0)) settle(files);
  }
}

/** Approximate number of packed objects: an upper bound for the files of a branch. */
async function packedObjects(gitDir: string): Promise<number> {
  const folder = packFolder(gitDir);
  const names = (await readdir(folder)).filter((name) => name.endsWith('.idx'));
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size));
  return sizes.reduce((sum, size) => sum + Math.max(size - EMPTY_INDEX, 0) / INDEX_ENTRY, 0);
}

export class BufferArena {
  #slab: Buffer<ArrayBuffer> | undefined;
  #used = 0;

  /** A copy of the bytes, next to others that are copied soon. */
  place(bytes: Uint8Array<ArrayBuffer>): Buffer<ArrayBuffer> {
    if (bytes.length > SLAB_BYTES) return Buffer.from(bytes);
    if (this.#slab === undefined || this.#used + bytes.length > SLAB_BYTES) {
      // Its pages take no memory before they are written.
      this.#slab = Buffer.from(new ArrayBuffer(SLAB_BYTES));
      this.#used = 0;
    }
    const start = this.#used;
    this.#used += bytes.length;
    this.#slab.set(bytes, start);
    return this.#slab.subarray(start, this.#used);
  }
}
