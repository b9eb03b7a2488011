/** Objects of a repository, read by isomorphic-git within limits of size. */
import { readObject } from 'isomorphic-git';
import { LRUCache } from 'lru-cache';
import { BlobTooLargeError, GitError, MissingObjectError, ObjectTypeError } from '../git-error.ts';
import type { ObjectType } from '../objects/object-id.ts';
import type { FoundObject } from '../reading/cat-file.ts';
import { ObjectSizes } from './object-sizes.ts';
import { INSTALL_GIT, type RepositoryFiles } from './repository-files.ts';

/** Bases of deltas, which are inflated as well. */
const MAX_INFLATED_BYTES = 128 * 1024 * 1024;
/** isomorphic-git holds what it inflated from packs; beyond so much, its cache is dropped. */
const MAX_CACHED_BYTES = 256 * 1024 * 1024;
/** A walk of history reads the trees of each commit twice. */
const TREE_CACHE_BYTES = 64 * 1024 * 1024;

export class ObjectStore {
  readonly #files: RepositoryFiles;
  readonly #client: RepositoryFiles['client'];
  readonly #sizes: ObjectSizes;
  readonly #maxBytes: number;
  readonly #trees = new LRUCache<string, Buffer>({
    maxSize: TREE_CACHE_BYTES,
    sizeCalculation: ({ length }) => length + 1,
  });
  #cache = {};
  #cachedBytes = 0;

  constructor(files: RepositoryFiles, maxBytes: number) {
    this.#files = files;
    this.#client = files.client;
    this.#sizes = new ObjectSizes(files);
    this.#maxBytes = maxBytes;
  }

  /** Undefined: there is no such object. Without content: it is larger than what is read. */
  async find(id: string): Promise<FoundObject | undefined> {
    const tree = this.#trees.get(id);
    if (tree !== undefined) return { type: 'tree', size: tree.length, content: tree };
    const declared = await this.#sizes.of(id);
    if (declared === undefined) return undefined;
    const { type, size, largest } = declared;
    if (size > this.#maxBytes || largest > MAX_INFLATED_BYTES) {
      return { type, size, content: undefined };
    }
    const content = await this.#inflate(id, largest);
    if (type === 'tree') this.#trees.set(id, content);
    return { type, size, content };
  }

  /** Rejects where the object is missing, of another type, or too large. */
  async read(id: string, type: ObjectType): Promise<Buffer> {
    const found = await this.find(id);
    if (found === undefined) throw await this.#missing(id);
    if (found.type !== type) throw new ObjectTypeError(id, { found: found.type, wanted: type });
    if (found.content === undefined) throw new BlobTooLargeError(id, found.size, this.#maxBytes);
    return found.content;
  }

  async #missing(id: string): Promise<GitError> {
    const { gitDir } = this.#files;
    const packs = await this.#files.list('objects/pack');
    if (!packs.some((name) => name.endsWith('.promisor')))
      return new MissingObjectError(id, gitDir);
    return new GitError(`Object ${id} is not in ${gitDir}, which is a partial clone`, {
      remedy: `Clone without --filter. ${INSTALL_GIT}`,
    });
  }

  async #inflate(id: string, bytes: number): Promise<Buffer> {
    this.#cachedBytes += bytes;
    if (this.#cachedBytes > MAX_CACHED_BYTES) {
      this.#cache = {};
      this.#cachedBytes = bytes;
    }
    const { gitDir } = this.#files;
    try {
      const from = { fs: this.#client, gitdir: gitDir, cache: this.#cache };
      const { object } = await readObject({ ...from, oid: id, format: 'content' });
      if (Buffer.isBuffer(object)) return object;
      if (object instanceof Uint8Array) return Buffer.from(object);
      throw new GitError(`Object ${id} of ${gitDir} has no content`);
    } catch (error) {
      if (error instanceof GitError || !(error instanceof Error)) throw error;
      throw new GitError(`Object ${id} of ${gitDir} cannot be read: ${error.message}`, {
        remedy: 'Run `git fsck --full` there and restore a backup',
        cause: error,
      });
    }
  }
}
