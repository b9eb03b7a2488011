/**
 * Reads many files on all processors. Its results are those of the one reader that there is, run
 * elsewhere; what goes wrong there is left to whoever asked, who reads it again and says why.
 */
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { GitContext } from '../../git/git-environment.ts';
import type { FileEntry } from '../file.ts';
import { FilesAhead, listAhead } from './ahead.ts';
import {
  type CrewSetup,
  type Delivery,
  type Order,
  unpackFiles,
  type WantedFile,
} from './protocol.ts';

/**
 * Each worker has to load and to compile what reads manifests. Fewer files are read by then, and
 * with less memory.
 */
const WORTH_WHILE = 20_000;
const FILES_IN_LOT = 256;
/** So that git fetches the next one meanwhile. */
const LOTS_A_WORKER = 2;

export interface CrewOptions extends Pick<CrewSetup, 'apiGroup' | 'under' | 'secrets'> {
  readonly workers?: number;
  readonly worthWhile?: number;
  readonly worthWhileAhead?: number;
}

type Take = (file: WantedFile, entry: FileEntry) => void;

interface Job {
  readonly files: readonly WantedFile[];
  readonly take: Take;
  readonly settle: (left: readonly WantedFile[]) => void;
}

interface Member {
  readonly worker: Worker;
  readonly lots: Map<number, Job>;
}

export class Crew {
  readonly #options: CrewOptions;
  readonly #members = new Set<Member>();
  readonly #waiting: Job[] = [];
  #ahead: Promise<FilesAhead> | undefined;
  #closed = false;
  #lots = 0;

  constructor(options: CrewOptions) {
    this.#options = options;
  }

  /**
   * Begins to read what a branch holds, before its history is known: what the newest commit has is
   * most of what will be asked for. A guess only; what it missed is read when asked.
   */
  expect(context: GitContext, ref: string): void {
    this.#ahead ??= this.#readAhead(context, ref);
  }

  /** Lets go of what was read ahead and nobody asked for. */
  settle(): void {
    this.#ahead = undefined;
  }

  /**
   * Calls back once for each file that it could read, in no particular order, and resolves to those
   * it could not: all of them where they are too few.
   */
  async read(
    context: GitContext,
    files: readonly WantedFile[],
    take: Take,
  ): Promise<readonly WantedFile[]> {
    const { worthWhile = WORTH_WHILE } = this.#options;
    const ahead = await this.#ahead;
    const left = ahead === undefined ? files : files.filter((file) => !ahead.give(file, take));
    return left.length < worthWhile ? left : await this.#readAll(context, left, take);
  }

  async #readAhead(context: GitContext, ref: string): Promise<FilesAhead> {
    const { under, worthWhileAhead = WORTH_WHILE } = this.#options;
    const ahead = new FilesAhead();
    try {
      const files = await listAhead(context, ref, under);
      if (files.length < worthWhileAhead) return ahead;
      await this.#readAll(context, files, (file, entry) => ahead.add(file, entry));
    } catch {
      // Whoever reads the repository in earnest is told what is wrong with it.
    }
    return ahead;
  }

  async #readAll(
    context: GitContext,
    files: readonly WantedFile[],
    take: Take,
  ): Promise<readonly WantedFile[]> {
    const { workers = availableParallelism() } = this.#options;
    // One at a time: a second one would only take the processors from the first.
    if (this.#closed || workers < 2 || this.#members.size > 0) return files;
    const jobs: Promise<readonly WantedFile[]>[] = [];
    for (let start = 0; start < files.length; start += FILES_IN_LOT) {
      const lot = files.slice(start, start + FILES_IN_LOT);
      jobs.push(new Promise((settle) => void this.#waiting.push({ files: lot, take, settle })));
    }
    const wanted = Math.min(workers, jobs.length);
    while (this.#members.size < wanted) this.#hire(context);
    for (const member of this.#members) this.#occupy(member);
    const left = (await Promise.all(jobs)).flat();
    // What they take in memory is worth more than what they have compiled.
    this.#dismiss();
    return left;
  }

  close(): void {
    this.#closed = true;
    this.settle();
    this.#dismiss();
  }

  #dismiss(): void {
    for (const { worker } of this.#members) void worker.terminate();
  }

  #hire(context: GitContext): void {
    const { apiGroup, under, secrets } = this.#options;
    const setup: CrewSetup = { context, apiGroup, under, ...(secrets && { secrets }) };
    const worker = startWorker(setup);
    worker.unref();
    const member: Member = { worker, lots: new Map() };
    this.#members.add(member);
    worker.on('message', (delivery: Delivery) => this.#accept(member, delivery));
    // What it was at is read by whoever asked; an error that counts shows itself there.
    worker.on('error', () => this.#lose(member));
    worker.on('exit', () => this.#lose(member));
  }

  #occupy(member: Member): void {
    while (member.lots.size < LOTS_A_WORKER) {
      const job = this.#waiting.shift();
      if (job === undefined) return;
      const lot = this.#lots++;
      member.lots.set(lot, job);
      member.worker.postMessage({ lot, files: job.files } satisfies Order);
    }
  }

  #accept(member: Member, { lot, packed }: Delivery): void {
    const job = member.lots.get(lot);
    member.lots.delete(lot);
    this.#occupy(member);
    if (job === undefined) return;
    const { files, take, settle } = job;
    if (packed === undefined) {
      settle(files);
      return;
    }
    for (const [i, entry] of unpackFiles(files, packed).entries()) {
      const file = files[i];
      if (file !== undefined) take(file, entry);
    }
    settle([]);
  }

  #lose(member: Member): void {
    if (!this.#members.delete(member)) return;
    for (const { files, settle } of member.lots.values()) settle(files);
    if (this.#members.size > 0) return;
    for (const { files, settle } of this.#waiting.splice(0)) settle(files);
  }
}

/** The built file, or the source through tsx while developing. */
function startWorker(workerData: CrewSetup): Worker {
  if (!import.meta.url.endsWith('.ts')) {
    return new Worker(new URL('./worker.js', import.meta.url), { workerData });
  }
  const source = new URL('./worker.ts', import.meta.url).href;
  const program = `import('tsx/esm/api').then(({ register }) => (register(), import('${source}')));`;
  return new Worker(program, { eval: true, workerData });
}
