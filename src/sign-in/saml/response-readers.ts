/**
 * Threads that read responses, so that a hostile one holds up nobody: it has a few seconds, then its
 * thread is ended and another takes its place, and there is a second one for everybody else. They are
 * started by the first login, and hold nothing of the one before.
 */
import { Worker } from 'node:worker_threads';
import { Refusal } from './refusal.ts';
import type { AssertionFacts, ReadRequest, ReadResult } from './worker-messages.ts';

const THREADS = 2;
const MOST_WAITING = 64;
/** What the caps leave is read in some hundredths of a second. */
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
  readonly worker: Worker;
  isReady: boolean;
  job: Job | undefined;
  timer: NodeJS.Timeout | undefined;
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
    if (this.#closed)
      throw new Refusal('the configuration changed meanwhile', { reason: 'closed', code: 502 });
    if (this.#waiting.length >= MOST_WAITING) {
      throw new Refusal('too many people sign in at once', { reason: 'busy', code: 502 });
    }
    const { promise, resolve, reject } = withResolvers<AssertionFacts>();
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
    const closed = new Refusal('the configuration changed meanwhile', {
      reason: 'closed',
      code: 502,
    });
    for (const job of this.#waiting.splice(0)) job.reject(closed);
    const readers = [...this.#readers];
    for (const reader of readers) this.#lose(reader, closed);
    await Promise.all(readers.map(({ worker }) => worker.terminate()));
  }

  #serve(): void {
    while (this.#waiting.length > 0) {
      const idle = [...this.#readers].find(({ job }) => job === undefined) ?? this.#addIfFew();
      if (idle === undefined) return;
      idle.job = this.#waiting.shift();
      if (idle.isReady) this.#give(idle);
    }
  }

  #addIfFew(): Reader | undefined {
    return this.#readers.size < THREADS ? this.#add() : undefined;
  }

  #add(): Reader {
    const reader: Reader = {
      worker: this.#start(),
      isReady: false,
      job: undefined,
      timer: undefined,
    };
    const { worker } = reader;
    this.#readers.add(reader);
    this.#watch(reader, START_MS);
    worker.unref();
    worker.on('message', (message: 'ready' | ReadResult) => this.#accept(reader, message));
    const lost = (): void => this.#lose(reader, reader.isReady ? broken() : notStarted());
    worker.on('error', lost);
    worker.on('exit', lost);
    return reader;
  }

  #give(reader: Reader): void {
    if (reader.job === undefined) return;
    this.#watch(reader, this.#deadlineMs);
    reader.worker.postMessage(reader.job.request);
  }

  #watch(reader: Reader, ms: number): void {
    clearTimeout(reader.timer);
    const late = new Refusal('it takes too long to read', { reason: 'too-slow' });
    reader.timer = setTimeout(() => this.#lose(reader, late), ms).unref();
  }

  #accept(reader: Reader, message: 'ready' | ReadResult): void {
    clearTimeout(reader.timer);
    if (message === 'ready') {
      reader.isReady = true;
      this.#give(reader);
      return;
    }
    const { job } = reader;
    reader.job = undefined;
    if ('facts' in message) job?.resolve(message.facts);
    else job?.reject(refusalOf(message.refused));
    this.#serve();
  }

  #lose(reader: Reader, why: Refusal): void {
    if (!this.#readers.delete(reader)) return;
    clearTimeout(reader.timer);
    reader.worker.terminate().catch(() => undefined);
    reader.job?.reject(why);
    this.#serve();
  }
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

interface Resolvers<T> extends Pick<Job, 'reject'> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
}

function withResolvers<T>(): Resolvers<T> {
  let resolve: (value: T) => void = () => undefined;
  let reject: (error: unknown) => void = () => undefined;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

/** The built file, or the source through tsx while developing. */
function startThread(): Worker {
  const options = {
    name: 'saml',
    // Nothing of the environment, no arguments: it needs neither.
    env: {},
    argv: [],
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MEGABYTES },
    // What parsers say of a hostile text stays out of the log.
    stdout: true,
    stderr: true,
  };
  const worker = import.meta.url.endsWith('.ts')
    ? new Worker(developed(new URL('./thread.ts', import.meta.url).href), {
        ...options,
        eval: true,
      })
    : new Worker(new URL('./thread.js', import.meta.url), options);
  worker.stdout.resume();
  worker.stderr.resume();
  return worker;
}

function developed(source: string): string {
  return `import('tsx/esm/api').then(({ register }) => (register(), import('${source}')));`;
}
