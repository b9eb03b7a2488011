/**
 * Reads large files in a thread with memory and time limits. A parser takes seconds for some
 * megabytes, during which the main thread could not answer requests.
 */
import { Mutex, WorkerChannel } from '../../concurrency/index.ts';
import type { DocumentEncryption } from '../encryption.ts';
import { type FileEntry, unreadableFile } from '../file.ts';
import type { LargeFile } from '../file-reader.ts';
import { type Delivery, type Order, type ReaderSetup, unpackFiles } from './protocol.ts';
import { startReader } from './start-reader.ts';

/** Memory limit of the thread: several times the need of a file of 8 MiB. */
const LIMITS = { memoryMib: 512, deadlineMs: 120_000 };
/** A thread takes a second to start, and history may have many versions of a file. */
const IDLE_MS = 10_000;

const REFUSED =
  'The file takes too much memory or time to be read; split it, and use fewer aliases, comments and flow collections';

export class LargeFiles {
  readonly #deadlineMs: number;
  readonly #channel: WorkerChannel<Order, Delivery>;
  readonly #mutex = new Mutex();
  #idle: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(setup: () => ReaderSetup, limits = LIMITS) {
    this.#deadlineMs = limits.deadlineMs;
    const resourceLimits = { maxOldGenerationSizeMb: limits.memoryMib };
    this.#channel = new WorkerChannel({
      name: 'the reader of large files',
      start: () => startReader(setup(), resourceLimits),
    });
  }

  /** One call at a time. */
  read(files: readonly LargeFile[]): Promise<FileEntry[]> {
    return this.#mutex.run(() => this.#readAll(files));
  }

  /** Rejects when the thread meets a limit. */
  encryptionIn(content: Buffer): Promise<readonly DocumentEncryption[]> {
    return this.#mutex.run(async () => {
      clearTimeout(this.#idle);
      const { encryption = [] } = await this.#channel.ask(
        { encryptionOf: content },
        { deadlineMs: this.#deadlineMs },
      );
      this.#endWhenIdle();
      return encryption;
    });
  }

  close(): void {
    this.#closed = true;
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
    this.#endWhenIdle();
    return entries;
  }

  #endWhenIdle(): void {
    this.#idle = setTimeout(() => this.#end(), IDLE_MS).unref();
  }

  /** Undefined: the thread met a limit, and another one reads the next file. */
  async #readOne({ content, ...wanted }: LargeFile): Promise<FileEntry | undefined> {
    const { packed } = await this.#channel
      .ask({ files: [wanted], contents: [content] }, { deadlineMs: this.#deadlineMs })
      .catch((): Delivery => ({}));
    const [entry] = packed === undefined ? [] : unpackFiles([wanted], packed);
    return entry;
  }

  #end(): void {
    clearTimeout(this.#idle);
    void this.#channel.terminate();
  }
}

function refused({ path, id }: LargeFile): FileEntry {
  return unreadableFile(path, id, { line: 1, col: 1, message: REFUSED });
}
