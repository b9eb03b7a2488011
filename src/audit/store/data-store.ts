/** A data store of audit events, as the daemon sees it: the other side of a thread. */
import { resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import { readDataStoreEndpoint } from '../../kinds/index.ts';
import type { AuditTarget } from '../audit-queue.ts';
import type { EventQuery } from './event-store.ts';
import type { ThreadReply, ThreadRequest, ThreadSetup } from './thread-messages.ts';

export type { EventQuery } from './event-store.ts';

export interface DataStoreOptions {
  /** With its credentials: never shown. */
  readonly endpoint: string;
  /** Relative paths are in here. */
  readonly directory: string;
  /** How long events are kept; 0: for ever. */
  readonly keptMs: number;
  /** Something failed that nobody waits for. */
  refused(error: unknown): void;
}

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** Longer than the data base is waited for in the thread. */
const ANSWER_WITHIN_MS = 40_000;
const CLOSE_WITHIN_MS = 2000;
const HEAP_MEGABYTES = 192;

type Act = ThreadRequest extends infer Request
  ? Request extends ThreadRequest
    ? Omit<Request, 'id'>
    : never
  : never;

export class DataStore implements AuditTarget {
  readonly #options: DataStoreOptions;
  readonly #waiting = new Map<number, Waiting>();
  #thread: Worker | undefined;
  #lastId = 0;
  #isOpen = false;
  #isClosed = false;

  constructor(options: DataStoreOptions) {
    this.#options = options;
  }

  async open(): Promise<void> {
    await this.#ask({ act: 'open' });
    this.#isOpen = true;
  }

  async append(lines: readonly Buffer[]): Promise<number> {
    if (!this.#isOpen) await this.open();
    const copy = new Uint8Array(Buffer.concat(lines));
    return (await this.#ask({ act: 'append', lines: copy }, [copy.buffer])) as number;
  }

  async find(query: EventQuery): Promise<readonly string[]> {
    return (await this.#ask({ act: 'find', query })) as string[];
  }

  async close(): Promise<void> {
    const thread = this.#thread;
    if (thread !== undefined) {
      const closed = this.#ask({ act: 'close' }).catch(() => undefined);
      await Promise.race([closed, pause(CLOSE_WITHIN_MS)]);
    }
    this.#isClosed = true;
    await thread?.terminate();
  }

  /** Rejects in bounded time. */
  #ask(act: Act, transferred: ArrayBuffer[] = []): Promise<unknown> {
    const thread = this.#started();
    const id = ++this.#lastId;
    return new Promise((done, fail) => {
      const timer = setTimeout(() => {
        // What hangs is not asked again.
        this.#lost(thread, new Error('The data store did not answer in time'));
        void thread.terminate();
      }, ANSWER_WITHIN_MS).unref();
      this.#waiting.set(id, {
        resolve: (result) => {
          clearTimeout(timer);
          done(result);
        },
        reject: (error) => {
          clearTimeout(timer);
          fail(error);
        },
      });
      thread.postMessage({ ...act, id }, transferred);
    });
  }

  #started(): Worker {
    if (this.#thread !== undefined) return this.#thread;
    if (this.#isClosed) throw new Error('The data store is closed');
    const thread = startThread(this.#setup());
    thread.unref();
    thread.on('message', (message: ThreadReply) => this.#take(message));
    thread.on('error', (error) => this.#lost(thread, error));
    thread.on('exit', () => this.#lost(thread, new Error('The thread of the data store ended')));
    this.#thread = thread;
    return thread;
  }

  /** Throws a sentence without the endpoint in it. */
  #setup(): ThreadSetup {
    const { endpoint, directory, keptMs } = this.#options;
    const read = readDataStoreEndpoint(endpoint);
    if (typeof read === 'string') throw new Error(`audit.dataStoreEndpoint ${read}`);
    if (read.kind !== 'sqlite') return { endpoint: read, keptMs };
    return { endpoint: { kind: 'sqlite', path: resolve(directory, read.path) }, keptMs };
  }

  #take({ id, result, failure }: ThreadReply): void {
    const error =
      failure &&
      Object.assign(
        new Error(`The data store: ${failure.message}`),
        failure.code && { code: failure.code },
      );
    if (id === undefined) {
      this.#options.refused(error);
      return;
    }
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error === undefined) waiting?.resolve(result);
    else waiting?.reject(error);
  }

  /** Whether what it was doing was done nobody knows: what was written twice counts once. */
  #lost(thread: Worker, cause: Error): void {
    if (this.#thread !== thread) return;
    this.#thread = undefined;
    this.#isOpen = false;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(cause);
  }
}

/** The built file, or the source through tsx while developing. */
function startThread(workerData: ThreadSetup): Worker {
  const options = {
    workerData,
    name: 'audit-store',
    // Where to connect is in the endpoint, and nowhere else.
    env: {},
    argv: [],
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MEGABYTES },
  };
  if (!import.meta.url.endsWith('.ts')) {
    return new Worker(new URL('./store-thread.js', import.meta.url), options);
  }
  const source = new URL('./store-thread.ts', import.meta.url).href;
  const program = `import('tsx/esm/api').then(({ register }) => (register(), import('${source}')));`;
  return new Worker(program, { ...options, eval: true });
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds).unref();
  });
}
