/** A data store of audit events, as the daemon uses it: the client of its thread. */
import { resolve } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { startWorker, WorkerChannel } from '../../concurrency/index.ts';
import { readDataStoreEndpoint } from '../../kinds/index.ts';
import type { AuditTarget } from '../audit-queue.ts';
import type { EventQuery } from './event-store.ts';
import type { ThreadFailure, ThreadReply, ThreadRequest, ThreadSetup } from './thread-messages.ts';

export type { EventQuery } from './event-store.ts';

export interface DataStoreOptions {
  /** Contains credentials: never shown. */
  readonly endpoint: string;
  /** Base directory of relative paths. */
  readonly directory: string;
  /** Retention of events; 0: for ever. */
  readonly keptMs: number;
  /** Reports a failure of a background operation. */
  refused(error: unknown): void;
}

/** Longer than the timeout of the database in the thread. */
const ANSWER_WITHIN_MS = 40_000;
const CLOSE_WITHIN_MS = 2000;
const HEAP_MEGABYTES = 192;

export class DataStore implements AuditTarget {
  readonly #options: DataStoreOptions;
  readonly #channel: WorkerChannel<ThreadRequest, ThreadReply>;
  #isOpen = false;
  #isClosed = false;

  constructor(options: DataStoreOptions) {
    this.#options = options;
    this.#channel = new WorkerChannel({
      name: 'the data store',
      start: () => this.#start(),
      lost: () => {
        this.#isOpen = false;
      },
      notified: (failure) => options.refused(errorOf(failure as ThreadFailure)),
    });
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
    if (this.#channel.isStarted) {
      const closed = this.#ask({ act: 'close' }).catch(() => undefined);
      await Promise.race([closed, pause(CLOSE_WITHIN_MS)]);
    }
    this.#isClosed = true;
    await this.#channel.terminate();
  }

  /**
   * Rejects in bounded time. After the thread is lost it is unknown if events were written: an
   * event that is written twice counts once.
   */
  async #ask(request: ThreadRequest, transfer: ArrayBuffer[] = []): Promise<unknown> {
    const deadlineMs = ANSWER_WITHIN_MS;
    const { result, failure } = await this.#channel.ask(request, { transfer, deadlineMs });
    if (failure !== undefined) throw errorOf(failure);
    return result;
  }

  #start(): Worker {
    if (this.#isClosed) throw new Error('The data store is closed');
    return startWorker(new URL('./store-thread.ts', import.meta.url), {
      workerData: this.#setup(),
      name: 'audit-store',
      // The endpoint alone says where to connect; PG* variables of the environment do not count.
      env: {},
      argv: [],
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MEGABYTES },
    });
  }

  /** Throws an error whose message does not contain the endpoint. */
  #setup(): ThreadSetup {
    const { endpoint, directory, keptMs } = this.#options;
    const read = readDataStoreEndpoint(endpoint);
    if (typeof read === 'string') throw new Error(`audit.dataStoreEndpoint ${read}`);
    if (read.kind !== 'sqlite') return { endpoint: read, keptMs };
    return { endpoint: { kind: 'sqlite', path: resolve(directory, read.path) }, keptMs };
  }
}

function errorOf({ message, code }: ThreadFailure): Error {
  return Object.assign(new Error(`The data store: ${message}`), code && { code });
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds).unref();
  });
}
