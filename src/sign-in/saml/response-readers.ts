/**
 * Threads that read responses, so that a hostile one holds up nobody: it has a few seconds, then its
 * thread is ended and another takes its place, and there is a second one for everybody else. They are
 * started by the first login, and hold nothing of the one before.
 */
import type { Worker } from 'node:worker_threads';
import { deferred, startWorker, WorkerChannel, WorkerLostError } from '../../concurrency/index.ts';
import { Refusal } from './refusal.ts';
import type { AssertionFacts, ReadRequest, ReadResult, ThreadRequest } from './worker-messages.ts';

const THREADS = 2;
const MOST_WAITING = 64;
/** Time limit of one response: within the size caps, reading takes some hundredths of a second. */
const DEADLINE_MS = 5000;
/** Until the libraries are loaded, on a machine that has much else to do. */
const START_MS = 60_000;
const HEAP_MEGABYTES = 128;

interface Job {
  readonly request: ReadRequest;
  resolve(facts: AssertionFacts): void;
  reject(error: unknown): void;
}

interface Reader {
  readonly channel: WorkerChannel<ThreadRequest, ReadResult | undefined>;
  /** Rejects with WorkerLostError. */
  readonly started: Promise<void>;
  isReady: boolean;
  isBusy: boolean;
}

export interface ReaderOptions {
  readonly deadlineMs?: number;
  /** Makes a thread; for tests of what a broken one does. */
  readonly start?: () => Worker;
}

export class ResponseReaders {
  readonly #deadlineMs: number;
  readonly #start: () => Worker;
  readonly #readers = new Set<Reader>();
  readonly #waiting: Job[] = [];
  #closed = false;

  constructor({ deadlineMs = DEADLINE_MS, start = startThread }: ReaderOptions = {}) {
    this.#deadlineMs = deadlineMs;
    this.#start = start;
  }

  /** Starts a thread, so that it is there when the browser comes back. */
  warm(): void {
    if (!this.#closed && this.#readers.size === 0) this.#add();
  }

  /** Throws Refusal; rejects with `signal.reason` when that comes first. */
  async read(request: ReadRequest, signal: AbortSignal): Promise<AssertionFacts> {
    signal.throwIfAborted();
    if (this.#closed) throw closedMeanwhile();
    if (this.#waiting.length >= MOST_WAITING) {
      throw new Refusal('too many people sign in at once', { reason: 'busy', code: 502 });
    }
    const { promise, resolve, reject } = deferred<AssertionFacts>();
    const job: Job = { request, resolve, reject };
    const forget = (): void => {
      const at = this.#waiting.indexOf(job);
      if (at !== -1) this.#waiting.splice(at, 1);
      reject(signal.reason);
    };
    signal.addEventListener('abort', forget, { once: true });
    this.#waiting.push(job);
    this.#serve();
    try {
      return await promise;
    } finally {
      signal.removeEventListener('abort', forget);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const job of this.#waiting.splice(0)) job.reject(closedMeanwhile());
    await Promise.all([...this.#readers].map(({ channel }) => channel.terminate()));
  }

  #serve(): void {
    while (this.#waiting.length > 0) {
      const idle = [...this.#readers].find(({ isBusy }) => !isBusy) ?? this.#addIfFew();
      const job = idle && this.#waiting.shift();
      if (idle === undefined || job === undefined) return;
      idle.isBusy = true;
      void this.#run(idle, job);
    }
  }

  #addIfFew(): Reader | undefined {
    return this.#readers.size < THREADS ? this.#add() : undefined;
  }

  #add(): Reader {
    const channel: Reader['channel'] = new WorkerChannel({
      name: 'SAML responses',
      start: this.#start,
      lost: () => this.#readers.delete(reader),
    });
    const start = async (): Promise<void> => {
      await channel.ask({ do: 'start' }, { deadlineMs: START_MS });
      reader.isReady = true;
    };
    const started = start();
    // The first response is refused with the reason.
    started.catch(() => undefined);
    const reader: Reader = { channel, started, isReady: false, isBusy: false };
    this.#readers.add(reader);
    return reader;
  }

  async #run(reader: Reader, { request, resolve, reject }: Job): Promise<void> {
    try {
      await reader.started;
      const deadlineMs = this.#deadlineMs;
      const result = await reader.channel.ask({ do: 'read', request }, { deadlineMs });
      if (result !== undefined && 'facts' in result) resolve(result.facts);
      else reject(result === undefined ? broken() : refusalOf(result.refused));
    } catch (error) {
      this.#readers.delete(reader);
      reject(this.#closed ? closedMeanwhile() : lossOf(error, reader));
    }
    reader.isBusy = false;
    this.#serve();
  }
}

function closedMeanwhile(): Refusal {
  return new Refusal('the configuration changed meanwhile', { reason: 'closed', code: 502 });
}

function lossOf(error: unknown, { isReady }: Reader): Refusal {
  if (error instanceof WorkerLostError && error.isLate) {
    return new Refusal('it takes too long to read', { reason: 'too-slow' });
  }
  return isReady ? broken() : notStarted();
}

function broken(): Refusal {
  return new Refusal('it broke the thread that read it', { reason: 'reader-lost' });
}

function notStarted(): Refusal {
  return new Refusal('the thread that reads responses does not start', {
    reason: 'reader-lost',
    code: 502,
  });
}

function refusalOf({
  reason,
  message,
  code,
}: Extract<ReadResult, { refused: unknown }>['refused']) {
  return new Refusal(message, { reason, code });
}

function startThread(): Worker {
  const worker = startWorker(new URL('./thread.ts', import.meta.url), {
    name: 'saml',
    // Nothing of the environment, no arguments: it needs neither.
    env: {},
    argv: [],
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MEGABYTES },
    // Parser output about a hostile text stays out of the log.
    stdout: true,
    stderr: true,
  });
  worker.stdout.resume();
  worker.stderr.resume();
  return worker;
}
