/**
 * Publishes on a thread of its own: compressing, hashing and every call to the file system, each of
 * which may wait for the journal of the disk, hold up nobody else. The order of things is
 * `Publisher`'s, which runs there.
 */
import { Worker } from 'node:worker_threads';
import { StorageError } from './git-error.ts';
import {
  decodeFailure,
  encodePublication,
  type FailureMessage,
  type PublicationMessage,
} from './publication-message.ts';
import type { Publication, Publishing } from './publisher.ts';

/** Where a thread publishes to. */
export interface ThreadSetup {
  readonly gitDir: string;
  readonly ref: string;
  readonly lockPatienceMs: number;
}

export interface ThreadRequest {
  readonly id: number;
  /**
   * `settle`: everything asked for before has ended, and left nothing behind. `hold`: packs stay,
   * until as many times `let go`.
   */
  readonly ask: PublicationMessage | 'settle' | 'hold' | 'let go';
}

export interface ThreadReply {
  readonly id: number;
  readonly failure?: FailureMessage;
}

interface Waiting {
  resolve(): void;
  reject(error: Error): void;
}

/** The first write should not wait for the thread, and the start of the daemon neither. */
const START_AFTER_MS = 300;

export class PublishingThread implements Publishing {
  readonly #setup: ThreadSetup;
  readonly #waiting = new Map<number, Waiting>();
  readonly #starting: NodeJS.Timeout;
  #worker: Worker | undefined;
  #next = 0;

  constructor(setup: ThreadSetup) {
    this.#setup = setup;
    this.#starting = setTimeout(() => this.#start(), START_AFTER_MS).unref();
  }

  publish(publication: Publication): Promise<void> {
    const message = encodePublication(publication);
    return this.#ask(message, [message.bytes.buffer]);
  }

  /** Ends the thread; a publication asked for afterwards starts another. */
  async settled(): Promise<void> {
    clearTimeout(this.#starting);
    const worker = this.#worker;
    if (worker === undefined) return;
    await this.#ask('settle');
    this.#worker = undefined;
    await worker.terminate();
  }

  async whileStill<T>(work: () => Promise<T>): Promise<T> {
    // A thread that was lost removes nothing, and the next one begins where nothing is left to go.
    await this.#ask('hold').catch(() => undefined);
    try {
      return await work();
    } finally {
      if (this.#worker !== undefined) await this.#ask('let go').catch(() => undefined);
    }
  }

  #ask(ask: ThreadRequest['ask'], transfer: ArrayBuffer[] = []): Promise<void> {
    const worker = this.#start();
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      worker.ref();
      worker.postMessage({ id, ask } satisfies ThreadRequest, transfer);
    });
  }

  #start(): Worker {
    if (this.#worker !== undefined) return this.#worker;
    const worker = startWorker(this.#setup);
    worker.unref();
    worker.on('message', ({ id, failure }: ThreadReply) => {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      // Whoever waits for an answer keeps the process, and an idle thread does not.
      if (this.#waiting.size === 0) worker.unref();
      if (failure === undefined) waiting?.resolve();
      else waiting?.reject(decodeFailure(failure));
    });
    worker.on('error', (error) => this.#lost(worker, error));
    worker.on('exit', () => this.#lost(worker, new Error('The thread that publishes ended')));
    this.#worker = worker;
    return worker;
  }

  /** What it was doing may or may not be done. */
  #lost(worker: Worker, cause: Error): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) {
      reject(new StorageError(this.#setup.gitDir, { cause, moved: true }));
    }
  }
}

/** The built file, or the source through tsx while developing. */
function startWorker(workerData: ThreadSetup): Worker {
  const options = { workerData, name: 'publish' };
  if (!import.meta.url.endsWith('.ts')) {
    return new Worker(new URL('./publishing-worker.js', import.meta.url), options);
  }
  const source = new URL('./publishing-worker.ts', import.meta.url).href;
  const program = `import('tsx/esm/api').then(({ register }) => (register(), import('${source}')));`;
  return new Worker(program, { ...options, eval: true });
}
