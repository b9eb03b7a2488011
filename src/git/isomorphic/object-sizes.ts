/**
 * Type and size of objects, from the first bytes of each: isomorphic-git tells neither before the
 * object is inflated as a whole, and some kilobytes of a pack can hold gigabytes.
 */

import { constants, inflateSync } from 'node:zlib';
import { GitError } from '../git-error.ts';
import { sizesOf } from '../objects/delta.ts';
import { PackIndex } from '../packs/pack-index.ts';
import type { RepositoryFiles } from './repository-files.ts';

export interface ObjectSize {
  readonly type: string;
  readonly size: number;
  /** Of the object, of the bases that it is a delta to, and of these deltas. */
  readonly largest: number;
}

const TYPES = ['', 'commit', 'tree', 'blob', 'tag'];
const OFFSET_DELTA = 6;
const ID_DELTA = 7;
/** A delta begins with two sizes of up to ten bytes. */
const HEAD_BYTES = 64;
const MAX_CHAIN = 5000;

const EMPTY_TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904';

interface OpenPack {
  readonly index: PackIndex;
  readonly bytes: Buffer;
  /** By offset. */
  readonly sizes: Map<number, ObjectSize>;
}

export class ObjectSizes {
  readonly #files: RepositoryFiles;
  #packs: Promise<OpenPack[]> | undefined;

  constructor(files: RepositoryFiles) {
    this.#files = files;
  }

  /** Undefined: there is no such object. */
  async of(id: string): Promise<ObjectSize | undefined> {
    if (id === EMPTY_TREE) return { type: 'tree', size: 0, largest: 0 };
    const folder = `objects/${id.slice(0, 2)}`;
    if ((await this.#files.list(folder)).includes(id.slice(2))) {
      return sizeOfLoose(await this.#files.read(`${folder}/${id.slice(2)}`), id);
    }
    this.#packs ??= this.#openPacks();
    for (const pack of await this.#packs) {
      const offset = pack.index.offsetOf(id);
      if (offset !== undefined) return await this.#sizeAt(pack, offset);
    }
    return undefined;
  }

  async #openPacks(): Promise<OpenPack[]> {
    const packs: OpenPack[] = [];
    for (const name of await this.#files.list('objects/pack')) {
      if (!name.endsWith('.idx')) continue;
      const index = PackIndex.parse(await this.#files.read(`objects/pack/${name}`));
      if (index === undefined) {
        throw new GitError(`${name} is not a pack index of version 2`, {
          remedy: 'Run `git repack -ad` in the repository',
        });
      }
      const bytes = await this.#files.read(`objects/pack/${name.replace(/idx$/, 'pack')}`);
      packs.push({ index, bytes, sizes: new Map() });
    }
    return packs;
  }

  async #sizeAt(pack: OpenPack, start: number): Promise<ObjectSize> {
    const chain: { readonly at: number; readonly size: number; readonly largest: number }[] = [];
    let found: ObjectSize | undefined;
    for (let at = start; found === undefined; ) {
      found = pack.sizes.get(at);
      if (found !== undefined) break;
      if (chain.length > MAX_CHAIN) throw corruptPack();
      const head = readHead(pack.bytes, at);
      if (head.base === undefined) {
        found = { type: head.type, size: head.size, largest: head.size };
        pack.sizes.set(at, found);
        break;
      }
      const delta = inflateHead(pack.bytes.subarray(head.end, head.end + HEAD_BYTES));
      const size = sizesOf(delta).result;
      chain.push({ at, size, largest: Math.max(size, head.size) });
      const base = typeof head.base === 'number' ? head.base : pack.index.offsetOf(head.base);
      if (base === undefined) found = await this.of(String(head.base));
      else at = base;
      if (base === undefined && found === undefined) throw corruptPack();
    }
    for (const { at, size, largest } of chain.toReversed()) {
      found = { type: found.type, size, largest: Math.max(largest, found.largest) };
      pack.sizes.set(at, found);
    }
    return found;
  }
}

const ID_BYTES = 20;

interface EntryHead {
  readonly type: string;
  /** Of the entry, inflated. */
  readonly size: number;
  /** Offset or id of the object that it is a delta to. */
  readonly base: number | string | undefined;
  /** First byte of the deflated content. */
  readonly end: number;
}

function readHead(pack: Buffer, start: number): EntryHead {
  let at = start;
  const next = (): number => {
    const byte = pack[at];
    if (byte === undefined) throw corruptPack();
    at += 1;
    return byte;
  };
  let byte = next();
  const type = (byte >> 4) & 7;
  let size = byte & 0x0f;
  for (let factor = 16; byte > 0x7f; factor *= 128) {
    byte = next();
    size += (byte & 0x7f) * factor;
  }
  if (type === ID_DELTA) {
    const base = pack.toString('hex', at, at + ID_BYTES);
    return { type: '', size, base, end: at + ID_BYTES };
  }
  if (type !== OFFSET_DELTA) return { type: TYPES[type] ?? '', size, base: undefined, end: at };
  byte = next();
  let distance = byte & 0x7f;
  while (byte > 0x7f) {
    byte = next();
    distance = (distance + 1) * 128 + (byte & 0x7f);
  }
  if (distance < 1 || distance > start) throw corruptPack();
  return { type: '', size, base: start - distance, end: at };
}

/** `<type> SP <size> NUL`. */
function sizeOfLoose(deflated: Buffer, id: string): ObjectSize {
  const head = inflateHead(deflated.subarray(0, HEAD_BYTES)).toString('latin1', 0, HEAD_BYTES);
  const [, type, size] = /^(\w+) (\d+)\0/.exec(head) ?? [];
  if (type === undefined) throw new GitError(`Object ${id} is corrupt: it has no header`);
  return { type, size: Number(size), largest: Number(size) };
}

function inflateHead(deflated: Buffer): Buffer {
  try {
    return inflateSync(deflated, { finishFlush: constants.Z_SYNC_FLUSH });
  } catch (error) {
    throw corruptPack(error);
  }
}

function corruptPack(cause?: unknown): GitError {
  return new GitError('An object or a pack is corrupt', {
    remedy: 'Run `git fsck --full` and restore a backup',
    cause,
  });
}
