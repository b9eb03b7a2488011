/**
 * Encrypted values of every version of the manifests of the branch: the data key of a file that a user
 * encrypted is not known, so a copy of a former version is found by its values. Read when a push needs them,
 * extended as the branch grows, and dropped when idle.
 */
import { createHash } from 'node:crypto';
import { type ObjectKey, ownText, Yielding } from '../../apimachinery/index.ts';
import { encryptionOf, type FileReader, readEach, readReadable } from '../../catalog/index.ts';
import { Mutex } from '../../concurrency/index.ts';
import type { HistoryCommit, Repository } from '../../git/index.ts';
import { pathFilter } from '../../manifests/index.ts';
import { ciphertextsIn } from '../../sealing/index.ts';

/** A file as it is or was. */
export interface FormerVersion {
  readonly path: string;
  readonly blob: string;
}

export interface FormerOptions {
  readonly repository: Pick<Repository, 'history' | 'readBlobs' | 'listFiles'>;
  readonly reader: FileReader;
}

const IDLE_MS = 10 * 60_000;
const BLOBS_AT_ONCE = 64;
/** More of one value are not kept: the pusher encrypts it anew. */
export const MOST_VERSIONS = 64;
/** Git stores these bytes as they are: tools that encrypt write no escapes. */
const SEALED = 'ENC[AES256_GCM,';

/** A folder that is no part of the platform may have manifests, too. */
const MANIFESTS = pathFilter('', undefined);

export class FormerValues {
  readonly #options: FormerOptions;
  readonly #mutex = new Mutex();
  /** By digest of the value. */
  #versions = new Map<string, FormerVersion[]>();
  #head: string | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(options: FormerOptions) {
    this.#options = options;
  }

  /** The versions with each of the values (`ciphertextOf`) that the history of `head` has; undefined: it has no commit. */
  async versionsWith(
    values: ReadonlySet<string>,
    head: string | undefined,
  ): Promise<ReadonlyMap<string, readonly FormerVersion[]>> {
    if (head === undefined) return new Map();
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#forget(), IDLE_MS).unref();
    return await this.#mutex.run(async () => {
      if (this.#head !== head) {
        await this.#extend(head).catch((error: unknown) => {
          // Git may have pruned the former head, after an operator moved the branch.
          this.#forget();
          throw error;
        });
      }
      return new Map([...values].map((value) => [value, this.#versions.get(digest(value)) ?? []]));
    });
  }

  /** Objects of a version that have the value; undefined: a document that is none. */
  async holders(
    { path, blob: id }: FormerVersion,
    value: string,
  ): Promise<readonly (ObjectKey | undefined)[]> {
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

  async #extend(head: string): Promise<void> {
    let unread: FormerVersion[] = [];
    const { repository } = this.#options;
    for await (const commit of repository.history(this.#head, head, 'first parent')) {
      unread.push(...versionsOf(commit));
      if (unread.length < BLOBS_AT_ONCE) continue;
      await this.#read(unread);
      unread = [];
    }
    await this.#read(unread);
    this.#head = head;
  }

  async #read(versions: readonly FormerVersion[]): Promise<void> {
    const turns = new Yielding();
    for (let from = 0; from < versions.length; from += BLOBS_AT_ONCE) {
      const batch = versions.slice(from, from + BLOBS_AT_ONCE);
      const contents = await readReadable(
        this.#options.repository,
        batch.map(({ blob }) => blob),
      );
      for (const [at, version] of batch.entries()) {
        await turns.take();
        const content = contents[at];
        if (content?.includes(SEALED) !== true) continue;
        for (const value of ciphertextsIn(content.toString('latin1'))) this.#add(value, version);
      }
    }
  }

  #add(value: string, version: FormerVersion): void {
    const name = digest(value);
    const others = this.#versions.get(name);
    if (others === undefined) this.#versions.set(name, [version]);
    else if (others.length <= MOST_VERSIONS) others.push(version);
  }

  #forget(): void {
    this.#versions = new Map();
    this.#head = undefined;
  }
}

function versionsOf({ changes: [changes = []] }: HistoryCommit): FormerVersion[] {
  return changes.flatMap(({ path, newId }) =>
    newId !== undefined && MANIFESTS.includes(path)
      ? { path: ownText(path), blob: ownText(newId) }
      : [],
  );
}

/** The whole digest: decisions rest on it. */
function digest(value: string): string {
  return createHash('sha256').update(value).digest('base64');
}
