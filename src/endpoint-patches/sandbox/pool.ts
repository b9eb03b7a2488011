/**
 * Sandbox threads and the queue of their jobs. The pool terminates a thread that hangs, and starts
 * another. The job that hung fails; the jobs behind it go to other threads. A tenant that hung a
 * thread has a thread of its own from then on, so that other tenants do not wait for it.
 */
import type { Worker } from 'node:worker_threads';
import { startWorker } from '../../concurrency/index.ts';
import type { PatchProgram } from '../program.ts';
import type { PatchFailure, PatchOutcome } from '../report.ts';
import type { Limits } from './limits.ts';
import type { ThreadAnswer, ThreadData } from './messages.ts';
import { NO_PATCH, type ThreadJob, type ToThread } from './messages.ts';
import { Watchdog } from './watchdog.ts';

/** The jobs of one message, all of them. */
type FromThread = readonly ThreadAnswer[];

/** JavaScript objects of our own in a thread; those of expressions are in WebAssembly memory. */
const HEAP_MEGABYTES = 256;

export interface Job {
  readonly program: PatchProgram;
  /** An ApplyRequest as JSON. */
  readonly request: string;
  settle(outcome: PatchOutcome | PatchFailure): void;
}

export interface PoolStats {
  /** Threads that were started, those that took the place of others included. */
  started: number;
  /** Threads that were terminated because they hung, or that exited by themselves. */
  replaced: number;
}

/** Jobs that are sent together, since waking a thread costs as much as a small job. */
const JOBS_A_MESSAGE = 16;
/** So that a thread has the next message when it is done with one. */
const JOBS_A_THREAD = 2 * JOBS_A_MESSAGE;
/** Tenants whose expressions a thread keeps compiled; each takes some hundred kilobytes. */
const PROGRAMS_A_THREAD = 64;
const WATCH_MS = 25;

interface Thread {
  readonly worker: Worker;
  readonly suspects: boolean;
  readonly running: Int32Array;
  readonly watchdog: Watchdog;
  readonly jobs: Map<number, Job>;
  /** Least recently used first. */
  readonly programs: Set<string>;
}

export class Pool {
  readonly stats: PoolStats = { started: 0, replaced: 0 };
  readonly #limits: Limits;
  readonly #size: number;
  readonly #threads = new Set<Thread>();
  readonly #waiting: Job[] = [];
  readonly #waitingSuspects: Job[] = [];
  readonly #suspects = new Set<string>();
  #lastJob = 0;
  #watch: NodeJS.Timeout | undefined;
  #closed = false;
  /** True while a call of `#serveAll` is scheduled. */
  #scheduled = false;

  /** `size`: threads for tenants that never hung a thread. */
  constructor(size: number, limits: Limits) {
    this.#size = size;
    this.#limits = limits;
  }

  add(job: Job): void {
    if (this.#closed) {
      job.settle({ reason: 'crash', message: 'the sandbox is closed' });
      return;
    }
    const suspect = this.#suspects.has(job.program.id);
    (suspect ? this.#waitingSuspects : this.#waiting).push(job);
    if (this.#scheduled) return;
    this.#scheduled = true;
    // Jobs of the same tick are sent in one message.
    queueMicrotask(() => this.#serveAll());
  }

  #serveAll(): void {
    this.#scheduled = false;
    if (this.#closed) return;
    this.#serve(false);
    this.#serve(true);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#watch);
    const threads = [...this.#threads];
    this.#threads.clear();
    await Promise.all(threads.map(({ worker }) => worker.terminate()));
    const jobs = [...threads.flatMap(({ jobs }) => [...jobs.values()]), ...this.#waiting.splice(0)];
    for (const job of [...jobs, ...this.#waitingSuspects.splice(0)]) {
      job.settle({ reason: 'crash', message: 'the sandbox was closed' });
    }
  }

  #serve(suspects: boolean): void {
    const waiting = suspects ? this.#waitingSuspects : this.#waiting;
    while (waiting.length > 0) {
      const thread = this.#threadFor(suspects);
      if (thread === undefined) return;
      const share = Math.ceil(waiting.length / (suspects ? 1 : this.#size));
      const most = suspects ? 1 : Math.min(JOBS_A_MESSAGE, share);
      this.#give(thread, waiting.splice(0, most));
    }
  }

  /** The least busy one; a new one while there are fewer than there may be and all are busy. */
  #threadFor(suspects: boolean): Thread | undefined {
    const threads = [...this.#threads].filter((thread) => thread.suspects === suspects);
    const [idlest] = threads.sort((a, b) => a.jobs.size - b.jobs.size);
    const most = suspects ? 1 : this.#size;
    if (idlest === undefined || (idlest.jobs.size > 0 && threads.length < most)) {
      return this.#start(suspects);
    }
    // One at a time: the next one may be the one that makes it stand still.
    return idlest.jobs.size < (suspects ? 1 : JOBS_A_THREAD) ? idlest : undefined;
  }

  #give(thread: Thread, jobs: readonly Job[]): void {
    const messages: ThreadJob[] = [];
    for (const job of jobs) {
      this.#teach(thread, job.program);
      const number = (this.#lastJob % 0x7fff_ffff) + 1;
      this.#lastJob = number;
      thread.jobs.set(number, job);
      messages.push({ job: number, id: job.program.id, request: job.request });
    }
    post(thread, { type: 'apply', jobs: messages });
    thread.worker.ref();
    this.#watch ??= setInterval(() => this.#look(), WATCH_MS);
  }

  /** Sends the program to the thread before its first job. */
  #teach(thread: Thread, { id, source }: PatchProgram): void {
    if (!thread.programs.delete(id)) post(thread, { type: 'program', id, source });
    thread.programs.add(id);
    const [oldest] = thread.programs;
    if (thread.programs.size <= PROGRAMS_A_THREAD || oldest === undefined) return;
    thread.programs.delete(oldest);
    post(thread, { type: 'forget', id: oldest });
  }

  #start(suspects: boolean): Thread {
    const current = new SharedArrayBuffer(8);
    const worker = startThread({ limits: this.#limits, current });
    const thread = {
      worker,
      suspects,
      running: new Int32Array(current),
      watchdog: new Watchdog(this.#limits.timeMs),
      jobs: new Map<number, Job>(),
      programs: new Set<string>(),
    };
    this.#threads.add(thread);
    this.stats.started++;
    worker.unref();
    worker.on('message', (answers: FromThread) => this.#accept(thread, answers));
    const lost = (why: string) => () => this.#lose(thread, { reason: 'crash', message: why });
    worker.on('error', lost('the sandbox broke, and was replaced'));
    worker.on('exit', lost('the sandbox ended, and was replaced'));
    return thread;
  }

  #accept(thread: Thread, answers: FromThread): void {
    const done = answers.map(({ job, outcome }) => ({ job: thread.jobs.get(job), outcome }));
    for (const { job } of answers) thread.jobs.delete(job);
    if (thread.jobs.size === 0) thread.worker.unref();
    this.#serveAll();
    for (const { job, outcome } of done) job?.settle(JSON.parse(outcome) as PatchOutcome);
  }

  #look(): void {
    let busy = false;
    for (const thread of this.#threads) {
      if (thread.jobs.size > 0) busy = true;
      if (!thread.watchdog.late(Atomics.load(thread.running, 0))) continue;
      const message = `the expressions ran for more than ${this.#limits.timeMs} ms`;
      this.#lose(thread, { reason: 'time', message });
    }
    if (busy || this.#waiting.length > 0 || this.#waitingSuspects.length > 0) return;
    clearInterval(this.#watch);
    this.#watch = undefined;
  }

  /** The job that ran is to blame; when none did, the one that would have been next. */
  #lose(thread: Thread, failure: PatchFailure): void {
    if (!this.#threads.delete(thread)) return;
    this.stats.replaced++;
    const running = Math.abs(Atomics.load(thread.running, 0));
    const [first = 0] = thread.jobs.keys();
    const blamed = thread.jobs.get(running) ?? thread.jobs.get(first);
    const others = [...thread.jobs.values()].filter((job) => job !== blamed);
    thread.worker.terminate().catch(() => undefined);
    if (blamed !== undefined) this.#suspects.add(blamed.program.id);
    for (const job of others.reverse()) {
      const suspect = this.#suspects.has(job.program.id);
      (suspect ? this.#waitingSuspects : this.#waiting).unshift(job);
    }
    const patch = Atomics.load(thread.running, 1);
    blamed?.settle(patch === NO_PATCH || running === 0 ? failure : { ...failure, patch });
    this.#serveAll();
  }
}

/** Starts a sandbox thread. */
function startThread(workerData: ThreadData): Worker {
  return startWorker(new URL('./thread.ts', import.meta.url), {
    workerData,
    // Nothing of the environment, no arguments: a thread needs neither.
    env: {},
    argv: [],
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MEGABYTES },
  });
}

function post(thread: Thread, message: ToThread): void {
  thread.worker.postMessage(message);
}
