/**
 * The workshop on a thread of its own: compressing, hashing and calls to the file system that may wait
 * for the journal of the disk hold up nobody else. The order of things is `LoggedPublisher`'s.
 */
import { Worker } from 'node:worker_threads';
import { GitError, StorageError } from '../git-error.ts';
import type { Stock } from '../wal/preallocated-files.ts';
import type { FullLog } from '../wal/wal-checkpoint.ts';
import type { PackWorker } from './pack-worker.ts';
import {
  decodeFailure,
  encodePublication,
  type FailureMessage,
  type PublicationMessage,
} from './publication-message.ts';
import type { Publication } from './publisher.ts';

/** Where a thread publishes to. */
export interface ThreadSetup {
  readonly gitDir: string;
  readonly ref: string;
  readonly lockPatienceMs: number;
}

/** What is asked of the thread, see `Workshop`. */
export type ThreadAsk =
  | { readonly do: 'publish' | 'show'; readonly publication: PublicationMessage }
  | { readonly do: 'save'; readonly log: FullLog }
  | { readonly do: 'remove'; readonly tips: readonly string[] }
  | { readonly do: 'stock'; readonly stock: Stock }
  | { readonly do: 'settle' };

export interface ThreadRequest {
  readonly id: number;
  readonly ask: ThreadAsk;
}

export interface ThreadReply {
  readonly id: number;
  readonly failure?: FailureMessage;
}

interface Waiting {
  readonly ask: ThreadAsk['do'];
  resolve(): void;
  reject(error: Error): void;
}

export class PublishingThread implements PackWorker {
  readonly #setup: ThreadSetup;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #next = 0;

  constructor(setup: ThreadSetup) {
    this.#setup = setup;
  }

  /** Whoever asks first need not wait for the thread. */
  start(): void {
    this.#start();
  }

  publish(publication: Publication): Promise<void> {
    return this.#send('publish', publication);
  }

  show(publication: Publication): Promise<void> {
    return this.#send('show', publication);
  }

  save(log: FullLog): Promise<void> {
    return this.#ask({ do: 'save', log });
  }

  remove(tips: readonly string[]): Promise<void> {
    return this.#ask({ do: 'remove', tips });
  }

  stock(stock: Stock): Promise<void> {
    return this.#ask({ do: 'stock', stock });
  }

  /** Ends the thread; what is asked for afterwards starts another. */
  async settled(): Promise<void> {
    const worker = this.#worker;
    if (worker === undefined) return;
    await this.#ask({ do: 'settle' });
    this.#worker = undefined;
    await worker.terminate();
  }

  #send(what: 'publish' | 'show', publication: Publication): Promise<void> {
    const message = encodePublication(publication);
    return this.#ask({ do: what, publication: message }, [message.bytes.buffer]);
  }

  #ask(ask: ThreadAsk, transfer: ArrayBuffer[] = []): Promise<void> {
    const worker = this.#start();
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { ask: ask.do, resolve, reject });
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
    for (const { ask, reject } of waiting) {
      // Of everything else the branch knows nothing.
      if (ask === 'publish') reject(new StorageError(this.#setup.gitDir, { cause, moved: true }));
      else reject(new GitError('The thread that makes packs ended', { cause }));
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
