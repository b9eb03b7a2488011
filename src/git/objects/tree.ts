/**
 * One tree object: its bytes and an index of them. An edit splices the bytes and reuses the index where
 * possible, so that an edit of one entry among ten thousand is a copy and not a rebuild.
 *
 * Names are latin1 text here, one character per byte, so that comparing strings compares bytes.
 */
import { GitError } from '../git-error.ts';

export const TREE_MODE = '40000';
export const FILE_MODE = '100644';
export const SYMLINK_MODE = '120000';
export const SUBMODULE_MODE = '160000';

export interface TreeEntry {
  /** Without leading zeros, as git writes it: `40000`, `100644`. */
  readonly mode: string;
  readonly id: string;
}

/** Bytes [start, end) of the old tree were replaced by `inserted` bytes in the new one. */
export interface Splice {
  readonly start: number;
  readonly end: number;
  readonly inserted: number;
}

export interface TreeEdit {
  readonly tree: Tree;
  /** In order, not overlapping. */
  readonly splices: readonly Splice[];
}

const SPACE = 0x20;
const NUL = 0;
const ID_BYTES = 20;
const FEW_STEPS = 8;

export class Tree {
  readonly bytes: Buffer;
  /** Names in the order of git; that of a directory has a trailing `/`. */
  readonly #keys: readonly string[];
  /** Offset of each entry, and the end of the last one. */
  readonly #starts: Uint32Array;

  constructor(bytes: Buffer, keys: readonly string[], starts: Uint32Array) {
    this.bytes = bytes;
    this.#keys = keys;
    this.#starts = starts;
  }

  /**
   * The tree without entries. A getter, because TypeScript 7.0 miscompiles a static field with an
   * instance of its own class.
   */
  static get empty(): Tree {
    return EMPTY;
  }

  /** Throws if `bytes` are not a tree. */
  static parse(bytes: Buffer): Tree {
    const keys: string[] = [];
    const starts: number[] = [];
    let at = 0;
    while (at < bytes.length) {
      const space = bytes.indexOf(SPACE, at);
      const nul = bytes.indexOf(NUL, space);
      const end = nul + 1 + ID_BYTES;
      if (space === -1 || nul === -1 || end > bytes.length) throw corruptTree();
      const name = bytes.toString('latin1', space + 1, nul);
      keys.push(isTreeMode(bytes.toString('latin1', at, space)) ? `${name}/` : name);
      starts.push(at);
      at = end;
    }
    starts.push(at);
    return new Tree(bytes, keys, Uint32Array.from(starts));
  }

  get size(): number {
    return this.#keys.length;
  }

  /** Names of the entries, in the order of git. */
  *names(): Generator<string, void> {
    for (const key of this.#keys) yield key.endsWith('/') ? key.slice(0, -1) : key;
  }

  /** Approximate memory use in bytes. */
  get weight(): number {
    return this.bytes.length + this.#keys.length * 48 + 200;
  }

  find(name: string): TreeEntry | undefined {
    const index = this.#indexOf(name);
    return index === undefined ? undefined : this.#entry(index);
  }

  /** Returns the tree with the given entries set, or removed where undefined. */
  edit(entries: ReadonlyMap<string, TreeEntry | undefined>): TreeEdit {
    const steps: Step[] = [];
    for (const [name, entry] of entries) this.#plan(name, entry, steps);
    steps.sort((a, b) => a.index - b.index || a.removes - b.removes || (a.key < b.key ? -1 : 1));
    return this.#apply(steps);
  }

  #entry(index: number): TreeEntry {
    const start = this.#starts[index] ?? 0;
    const end = this.#starts[index + 1] ?? 0;
    return {
      mode: this.bytes.toString('latin1', start, this.bytes.indexOf(SPACE, start)),
      id: this.bytes.toString('hex', end - ID_BYTES, end),
    };
  }

  #indexOf(name: string): number | undefined {
    for (const key of [name, `${name}/`]) {
      const index = this.#lowerBound(key);
      if (this.#keys[index] === key) return index;
    }
    return undefined;
  }

  /** Number of keys before `key`. */
  #lowerBound(key: string): number {
    let low = 0;
    let high = this.#keys.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#keys[middle] ?? '') < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #plan(name: string, entry: TreeEntry | undefined, steps: Step[]): void {
    const old = this.#indexOf(name);
    if (entry === undefined) {
      if (old !== undefined) steps.push({ index: old, removes: 1, key: '', insert: undefined });
      return;
    }
    const key = isTreeMode(entry.mode) ? `${name}/` : name;
    const insert = Buffer.from(`${entry.mode} ${name}\0${'\0'.repeat(ID_BYTES)}`, 'latin1');
    insert.write(entry.id, insert.length - ID_BYTES, 'hex');
    if (old !== undefined && this.#keys[old] === key) {
      steps.push({ index: old, removes: 1, key, insert });
      return;
    }
    // A file became a directory or vice versa, which sorts at another position.
    if (old !== undefined) steps.push({ index: old, removes: 1, key: '', insert: undefined });
    steps.push({ index: this.#lowerBound(key), removes: 0, key, insert });
  }

  #apply(steps: readonly Step[]): TreeEdit {
    const sameKeys = steps.every((step) => step.removes === 1 && step.insert !== undefined);
    const parts: Buffer[] = [];
    const splices: Splice[] = [];
    let copied = 0;
    for (const { index, removes, insert } of steps) {
      const start = this.#starts[index] ?? 0;
      const end = this.#starts[index + removes] ?? 0;
      if (start > copied) parts.push(this.bytes.subarray(copied, start));
      if (insert !== undefined) parts.push(insert);
      splices.push({ start, end, inserted: insert?.length ?? 0 });
      copied = end;
    }
    parts.push(this.bytes.subarray(copied));
    const bytes = Buffer.concat(parts);
    const keys = sameKeys ? this.#keys : this.#splicedKeys(steps);
    const sameStarts = sameKeys && splices.every((s) => s.end - s.start === s.inserted);
    const starts = sameStarts ? this.#starts : this.#splicedStarts(steps, keys.length);
    return { tree: new Tree(bytes, keys, starts), splices };
  }

  #splicedKeys(steps: readonly Step[]): string[] {
    if (steps.length <= FEW_STEPS) return this.#fewSplicedKeys(steps);
    const keys: string[] = [];
    let copied = 0;
    for (const { index, removes, key, insert } of steps) {
      for (; copied < index; copied += 1) keys.push(this.#keys[copied] ?? '');
      if (insert !== undefined) keys.push(key);
      copied = index + removes;
    }
    for (; copied < this.#keys.length; copied += 1) keys.push(this.#keys[copied] ?? '');
    return keys;
  }

  /** Like `#splicedKeys`, with one copy of the whole array: many times faster for a few steps. */
  #fewSplicedKeys(steps: readonly Step[]): string[] {
    const keys = [...this.#keys];
    for (const { index, removes, key, insert } of steps.toReversed()) {
      if (insert === undefined) keys.splice(index, removes);
      else keys.splice(index, removes, key);
    }
    return keys;
  }

  #splicedStarts(steps: readonly Step[], size: number): Uint32Array {
    const starts = new Uint32Array(size + 1);
    let shift = 0;
    let filled = 0;
    let copied = 0;
    for (const { index, removes, insert } of steps) {
      for (; copied < index; copied += 1) starts[filled++] = (this.#starts[copied] ?? 0) + shift;
      const start = this.#starts[index] ?? 0;
      if (insert !== undefined) starts[filled++] = start + shift;
      shift += (insert?.length ?? 0) - ((this.#starts[index + removes] ?? 0) - start);
      copied = index + removes;
    }
    for (; copied < this.#starts.length; copied += 1) {
      starts[filled++] = (this.#starts[copied] ?? 0) + shift;
    }
    return starts;
  }
}

const EMPTY = new Tree(Buffer.alloc(0), [], new Uint32Array(1));

/** One step of an edit: removes 0 or 1 entries at `index`, and may insert one before the next. */
interface Step {
  readonly index: number;
  readonly removes: 0 | 1;
  readonly key: string;
  readonly insert: Buffer | undefined;
}

/** Accepts the zero-padded mode of old writers. */
function isTreeMode(mode: string): boolean {
  return mode === TREE_MODE || mode === `0${TREE_MODE}`;
}

export function isDirectory(entry: TreeEntry): boolean {
  return isTreeMode(entry.mode);
}

export function corruptTree(): GitError {
  return new GitError('A tree object is corrupt', {
    remedy: 'Run `git fsck --full` and restore a backup',
  });
}
