/**
 * Reads large files in a thread with memory and time limits. A parser takes seconds for some
 * megabytes, during which the main thread could not answer requests.
 */
import type { JsonObject, JsonValue } from '../../apimachinery/index.ts';
import { Mutex, WorkerChannel } from '../../concurrency/index.ts';
import { ManifestEditError } from '../../manifests/index.ts';
import type { DocumentEncryption } from '../encryption.ts';
import { type FileEntry, unreadableFile } from '../file.ts';
import type { LargeEdit, LargeEdits, LargeFile } from '../file-reader.ts';
import {
  type Delivery,
  type Edited,
  type Order,
  type ReaderSetup,
  unpackFiles,
} from './protocol.ts';
import { startReader } from './start-reader.ts';

/** Memory limit of the thread: several times the need of a file of 8 MiB. */
const LIMITS = { memoryMib: 512, deadlineMs: 120_000 };
/** A thread takes a second to start, and history may have many versions of a file. */
const IDLE_MS = 10_000;

const REFUSED =
  'The file takes too much memory or time to be read; split it, and use fewer aliases, comments and flow collections';

const CLOSED = 'The reader of large files is closed';
const TOO_MUCH = 'its document takes too much memory or time to be edited; split it';

export class LargeFiles implements LargeEdits {
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

  async documentValue(text: string, index: number): Promise<JsonValue | undefined> {
    const edited = await this.#edit({ text, index });
    return 'value' in edited ? edited.value : undefined;
  }

  async editDocument(text: string, index: number, desired: JsonObject): Promise<string> {
    const edited = await this.#edit({ text, index, desired });
    return 'text' in edited ? edited.text : text;
  }

  async readFile(path: string, id: string, content: Buffer): Promise<FileEntry> {
    const [entry] = await this.read([{ path, id, mode: '100644', content }]);
    return entry ?? refused({ path, id });
  }

  close(): void {
    this.#closed = true;
    this.#end();
  }

  /** Throws a ManifestEditError if the edit cannot be made, or meets a limit. */
  #edit(edit: LargeEdit): Promise<Exclude<Edited, { refusal: string }>> {
    return this.#mutex.run(async () => {
      clearTimeout(this.#idle);
      const { edited = { refusal: TOO_MUCH } } = await this.#channel
        .ask({ edit }, { deadlineMs: this.#deadlineMs })
        .catch((): Delivery => ({}));
      if (this.#closed) throw new Error(CLOSED);
      this.#endWhenIdle();
      if ('refusal' in edited) throw new ManifestEditError(edited.refusal);
      return edited;
    });
  }

  async #readAll(files: readonly LargeFile[]): Promise<FileEntry[]> {
    clearTimeout(this.#idle);
    const entries: FileEntry[] = [];
    for (const file of files) {
      const entry = this.#closed ? undefined : await this.#readOne(file);
      if (this.#closed) throw new Error(CLOSED);
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

function refused({ path, id }: Pick<LargeFile, 'path' | 'id'>): FileEntry {
  return unreadableFile(path, id, { line: 1, col: 1, message: REFUSED });
}
