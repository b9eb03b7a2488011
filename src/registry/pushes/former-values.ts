/**
 * Encrypted values of every version of the files of the branch: the data key of a file that a user
 * encrypted is not known, so a copy of a former version is found by its values. Read when a push needs them,
 * extended as the branch grows, and dropped when idle.
 */
import { createHash } from 'node:crypto';
import { type ObjectKey, ownText, unavailable, Yielding } from '../../apimachinery/index.ts';
import {
  encryptionOf,
  type FileReader,
  readEach,
  readReadable,
  SUBMODULE,
} from '../../catalog/index.ts';
import { Mutex } from '../../concurrency/index.ts';
import type { HistoryCommit, Repository } from '../../git/index.ts';
import { ciphertextsIn } from '../../sealing/index.ts';

/** A file as it is or was. */
export interface FormerVersion {
  readonly path: string;
  readonly blob: string;
}

export interface FormerOptions {
  readonly repository: Pick<Repository, 'history' | 'readBlobs' | 'listFiles'>;
  readonly reader: FileReader;
  readonly mostValues?: number | undefined;
}

const IDLE_MS = 10 * 60_000;
/** Bounds the memory of a read: a version may have 8 MiB. */
const BLOBS_AT_ONCE = 16;
/** Commits and versions that a judgement reads itself: API writes may wait for it. */
const READ_WHILE_JUDGED = 256;
/** More of one value are not kept: the pusher encrypts it anew. */
export const MOST_VERSIONS = 64;
/** Bounds the memory, 300 bytes each: a pusher can put a hundred thousand into one file that is no manifest. */
const MOST_VALUES = 1_000_000;
/** Git stores these bytes as they are: tools that encrypt write no escapes. */
const SEALED = 'ENC[AES256_GCM,';

const TOO_LONG_HISTORY =
  'The encrypted values of the history could not be read in time; push again, which goes on from there';
const TOO_MANY_VERSIONS =
  'The former versions with the encrypted values of this push could not be read in time; push fewer files at once, or encrypt the values anew';

/** The values of a long part of the history are not known: `read` them while nothing waits, and judge again. */
export class UnreadHistoryError extends Error {
  readonly head: string;

  constructor(head: string) {
    super(`The values of the history of ${head} are not read yet`);
    this.head = head;
  }
}

class TooManyValuesError extends Error {}

export class FormerValues {
  /** Limit of the values of a history. */
  readonly mostValues: number;
  readonly #options: FormerOptions;
  readonly #mutex = new Mutex();
  /** By digest of the value. */
  #versions = new Map<string, FormerVersion[]>();
  #head: string | undefined;
  /** The last head whose history has too many values. */
  #fullHead: string | undefined;
  #reads = 0;
  #idle: NodeJS.Timeout | undefined;

  constructor(options: FormerOptions) {
    this.#options = options;
    this.mostValues = options.mostValues ?? MOST_VALUES;
  }

  /**
   * The versions with each of the values (`ciphertextOf`) that the history of `head` has. Undefined: the history
   * has too many values. Throws UnreadHistoryError.
   */
  async versionsWith(
    values: ReadonlySet<string>,
    head: string,
  ): Promise<ReadonlyMap<string, readonly FormerVersion[]> | undefined> {
    clearTimeout(this.#idle);
    const forget = (): void => void this.#mutex.run(() => this.#forget());
    this.#idle = setTimeout(forget, IDLE_MS).unref();
    if (this.#reads > 0) throw new UnreadHistoryError(head);
    return await this.#mutex.run(async () => {
      if (this.#fullHead === head) return undefined;
      // Git may have pruned the former head, after an operator moved the branch.
      const isRead = await this.#extend(head, READ_WHILE_JUDGED).catch(() => false);
      if (!isRead) throw new UnreadHistoryError(head);
      return new Map([...values].map((value) => [value, this.#versions.get(digest(value)) ?? []]));
    });
  }

  /**
   * Takes seconds for a long history, so callers hold no mutex. Throws 503 once the signal is aborted: the next
   * call goes on from there. Ends at too many values.
   */
  async read(head: string, signal: AbortSignal): Promise<void> {
    this.#reads += 1;
    try {
      await this.#mutex.run(() => this.#extend(head, Number.POSITIVE_INFINITY, signal));
    } catch (error) {
      if (!(error instanceof TooManyValuesError)) throw error;
      this.#fullHead = head;
    } finally {
      this.#reads -= 1;
    }
  }

  /**
   * Objects of a version that have the value; undefined: a document that is none. Throws 503 once the
   * signal is aborted.
   */
  async holders(
    { path, blob: id }: FormerVersion,
    value: string,
    signal: AbortSignal,
  ): Promise<readonly (ObjectKey | undefined)[]> {
    if (signal.aborted) throw unavailable(TOO_MANY_VERSIONS);
    const { repository: source, reader } = this.#options;
    const [content = Buffer.alloc(0)] = await source.readBlobs([id]);
    const encryption = await encryptionOf(reader, content);
    const having = new Set(
      encryption.flatMap(({ index, values }) => (values.includes(value) ? [index] : [])),
    );
    const found: (ObjectKey | undefined)[] = [];
    await readEach({ source, reader }, [{ path, id, mode: '100644' }], (_, entry) => {
      for (const { index, key } of entry?.documents ?? []) if (having.has(index)) found.push(key);
    });
    return found;
  }

  /** False: there are more than `most` commits and versions, and none of them was read. */
  async #extend(head: string, most: number, signal?: AbortSignal): Promise<boolean> {
    if (this.#head === head) return true;
    const isWhole = most === Number.POSITIVE_INFINITY;
    if (!isWhole && this.#head === undefined) return false;
    const unread: FormerVersion[] = [];
    let count = 0;
    try {
      const { repository } = this.#options;
      for await (const commit of repository.history(this.#head, head, {
        against: 'first parent',
      })) {
        count += 1 + (commit.changes[0]?.length ?? 0);
        if (count > most) return false;
        const batch = isWhole ? BLOBS_AT_ONCE : Number.POSITIVE_INFINITY;
        const isRead = await this.#readBatches(commit, { unread, batch, signal });
        if (!isRead) continue;
        await this.#read(unread.splice(0), signal);
        // Its history is read too: parents come first.
        this.#head = ownText(commit.id);
      }
      await this.#read(unread, signal);
    } catch (error) {
      // The values that were read stay: the next call goes on from there, or ends at once.
      if (signal?.aborted !== true && !(error instanceof TooManyValuesError)) this.#forget();
      throw error;
    }
    this.#head = head;
    return true;
  }

  /** Reads versions of the commit in whole batches; the rest is added to `unread`. False: none was read. */
  async #readBatches(
    commit: HistoryCommit,
    of: { unread: FormerVersion[]; batch: number; signal: AbortSignal | undefined },
  ): Promise<boolean> {
    const { unread, batch, signal } = of;
    let isRead = false;
    for (const version of versionsOf(commit)) {
      if (unread.push(version) < batch) continue;
      await this.#read(unread.splice(0), signal);
      isRead = true;
    }
    return isRead;
  }

  async #read(versions: readonly FormerVersion[], signal?: AbortSignal): Promise<void> {
    const turns = new Yielding();
    for (let from = 0; from < versions.length; from += BLOBS_AT_ONCE) {
      if (signal?.aborted) throw unavailable(TOO_LONG_HISTORY);
      const batch = versions.slice(from, from + BLOBS_AT_ONCE);
      const contents = await readReadable(
        this.#options.repository,
        batch.map(({ blob }) => blob),
      );
      for (const [at, version] of batch.entries()) {
        await turns.take();
        const content = contents[at];
        if (content?.includes(SEALED) !== true) continue;
        for (const value of ciphertextsIn(content.toString('latin1'))) {
          await turns.take();
          this.#add(value, version);
        }
      }
    }
  }

  /** Throws TooManyValuesError. */
  #add(value: string, version: FormerVersion): void {
    const name = digest(value);
    const others = this.#versions.get(name);
    if (others === undefined && this.#versions.size >= this.mostValues) {
      throw new TooManyValuesError();
    }
    if (others === undefined) this.#versions.set(name, [version]);
    else if (others.length <= MOST_VERSIONS && !others.some((one) => isSame(one, version)))
      others.push(version);
  }

  #forget(): void {
    this.#versions = new Map();
    this.#head = undefined;
    this.#fullHead = undefined;
  }
}

function* versionsOf({ changes: [changes = []] }: HistoryCommit): Iterable<FormerVersion> {
  for (const { path, newId, mode } of changes) {
    if (newId === undefined || mode === SUBMODULE) continue;
    yield { path: ownText(path), blob: ownText(newId) };
  }
}

function isSame(one: FormerVersion, other: FormerVersion): boolean {
  return one.blob === other.blob && one.path === other.path;
}

/** The whole digest: decisions rest on it. */
function digest(value: string): string {
  return createHash('sha256').update(value).digest('base64');
}
