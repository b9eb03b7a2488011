/**
 * Reads large files in a thread with limits of memory and time. A file of some megabytes takes a parser
 * seconds: requests would wait for it on the main thread.
 */
import type { Worker } from 'node:worker_threads';
import { Mutex } from '../../concurrency/index.ts';
import { type FileEntry, unreadableFile } from '../file.ts';
import type { LargeFile } from '../file-reader.ts';
import { type Delivery, type Order, type ReaderSetup, unpackFiles } from './protocol.ts';
import { startWorker } from './start-worker.ts';

/** Memory limit of the thread: several times the need of a file of 8 MiB. */
const LIMITS = { memoryMib: 512, deadlineMs: 120_000 };
/** A thread takes a second to start, and history may have many versions of a file. */
const IDLE_MS = 10_000;

const REFUSED =
  'The file takes too much memory or time to be read; split it, and use fewer aliases, comments and flow collections';

export class LargeFiles {
  readonly #setup: () => ReaderSetup;
  readonly #limits: typeof LIMITS;
  readonly #mutex = new Mutex();
  #worker: Worker | undefined;
  /** Settles what is being read. */
  #deliver: (delivery?: Delivery) => void = () => undefined;
  #idle: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(setup: () => ReaderSetup, limits = LIMITS) {
    this.#setup = setup;
    this.#limits = limits;
  }

  /** One call at a time. */
  read(files: readonly LargeFile[]): Promise<FileEntry[]> {
    return this.#mutex.run(() => this.#readAll(files));
  }

  close(): void {
    this.#closed = true;
    this.#deliver();
    this.#end();
  }

  async #readAll(files: readonly LargeFile[]): Promise<FileEntry[]> {
    clearTimeout(this.#idle);
    const entries: FileEntry[] = [];
    for (const file of files) {
      const entry = this.#closed ? undefined : await this.#readOne(file);
      if (this.#closed) throw new Error('The reader of large files is closed');
      entries.push(entry ?? refused(file));
    }
    this.#idle = setTimeout(() => this.#end(), IDLE_MS).unref();
    return entries;
  }

  /** Undefined: the thread met a limit, and another one takes the next file. */
  async #readOne(file: LargeFile): Promise<FileEntry | undefined> {
    this.#worker ??= this.#start();
    const { content, ...wanted } = file;
    let timer: NodeJS.Timeout | undefined;
    const delivery = await new Promise<Delivery | undefined>((resolve) => {
      this.#deliver = resolve;
      timer = setTimeout(() => resolve(undefined), this.#limits.deadlineMs);
      const order: Order = { lot: 0, files: [wanted], contents: [content] };
      this.#worker?.postMessage(order);
    });
    clearTimeout(timer);
    if (delivery === undefined) this.#end();
    const [entry] = delivery?.packed === undefined ? [] : unpackFiles([wanted], delivery.packed);
    return entry;
  }

  #start(): Worker {
    const worker = startWorker(this.#setup(), { maxOldGenerationSizeMb: this.#limits.memoryMib });
    worker.unref();
    const deliver = (delivery?: Delivery): void => {
      if (this.#worker === worker) this.#deliver(delivery);
    };
    worker.on('message', deliver);
    // Of a thread without memory.
    worker.on('error', () => deliver());
    worker.on('exit', () => deliver());
    return worker;
  }

  #end(): void {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = undefined;
    void worker?.terminate();
  }
}

function refused({ path, id }: LargeFile): FileEntry {
  return unreadableFile(path, id, { line: 1, col: 1, message: REFUSED });
}
