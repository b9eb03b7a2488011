/**
 * Counts the paths of trees before any process walks them. Equal folders are one object to git, so
 * that a few kilobytes can hold billions of paths: each distinct tree is read once here, and its
 * counts are multiplied.
 */
import { setImmediate } from 'node:timers/promises';
import { TreeCursor } from '../objects/tree-cursor.ts';
import {
  MAX_DEPTH,
  MAX_PATH_BYTES,
  MAX_TREE_BYTES,
  pathOfNames,
  TreeLimitError,
} from './tree-limits.ts';

export interface TreeSize {
  /** Files and folders below; Infinity when a number cannot hold it. */
  readonly paths: number;
  /** Folders below each other. */
  readonly depth: number;
  /** Bytes of the longest path below. */
  readonly longest: number;
}

/** Called once for each tree, in any order; without bytes for one of more than MAX_TREE_BYTES. */
export type TakeTree = (id: string, bytes: Buffer | undefined) => void;
export type ReadTrees = (ids: readonly string[], take: TakeTree) => Promise<void>;

interface Folder {
  readonly id: string;
  readonly name: string;
}

/** One tree object: the size of what is known of it, and the folders of which nothing is known yet. */
interface Shape extends TreeSize {
  readonly folders: readonly Folder[];
}

/** By raw id: the size of a tree follows from its id, in whatever repository it is. */
const known = new Map<string, TreeSize>();
const MOST_KNOWN = 250_000;
const MOST_REFUSED = 1000;
/** Trees asked for at once. */
const CHUNK = 64;
/** Trees combined before others get the event loop. */
const STEPS_AT_ONCE = 10_000;
const EMPTY: TreeSize = { paths: 0, depth: 0, longest: 0 };

export class TreeSizes {
  readonly #read: ReadTrees;
  readonly #maxPaths: number;
  /** The same tree is asked about many times. */
  readonly #refused = new Map<string, TreeLimitError>();

  constructor(read: ReadTrees, maxPaths: number) {
    this.#read = read;
    this.#maxPaths = maxPaths;
  }

  /** Measures many trees with few questions; those that are beyond a limit are found out later. */
  async prepare(roots: readonly string[]): Promise<void> {
    const unknown = roots.filter((root) => !known.has(keyOf(root)) && !this.#refused.has(root));
    if (unknown.length < 2) return;
    try {
      await new Measurement(this.#read, this.#maxPaths).measureAll(unknown);
    } catch (error) {
      if (!(error instanceof TreeLimitError)) throw error;
    }
  }

  /** Throws a TreeLimitError that names the folder. */
  async measure(root: string): Promise<TreeSize> {
    const refused = this.#refused.get(root);
    if (refused !== undefined) throw refused;
    const size = known.get(keyOf(root));
    if (size !== undefined && problemOf(size, this.#maxPaths) === undefined) return size;
    try {
      return await new Measurement(this.#read, this.#maxPaths).measure(root);
    } catch (error) {
      if (!(error instanceof TreeLimitError)) throw error;
      if (this.#refused.size >= MOST_REFUSED) this.#refused.clear();
      this.#refused.set(root, error);
      throw error;
    }
  }
}

function problemOf({ paths, depth, longest }: TreeSize, maxPaths: number): string | undefined {
  if (depth > MAX_DEPTH) return tooDeep;
  if (paths > maxPaths) return tooMany(maxPaths);
  return longest > MAX_PATH_BYTES ? `holds a path of more than ${MAX_PATH_BYTES} bytes` : undefined;
}

/** Adds what a folder holds to what the tree around it holds. */
function grow(
  tree: { paths: number; depth: number; longest: number },
  nameBytes: number,
  below: TreeSize,
): void {
  tree.paths += below.paths;
  tree.depth = Math.max(tree.depth, below.depth + 1);
  tree.longest = Math.max(tree.longest, nameBytes + 1 + below.longest);
}

function keyOf(id: string): string {
  return Buffer.from(id, 'hex').toString('latin1');
}

const tooLarge = `is a folder of more than ${MAX_TREE_BYTES / 2 ** 20} MiB, which are the names of its entries`;
const tooDeep = `is more than ${MAX_DEPTH} folders deep`;

function tooMany(maxPaths: number): string {
  return `holds more than ${maxPaths} paths (--push-max-paths)`;
}

/** One look at one tree; ends as soon as a limit is passed. */
class Measurement {
  readonly #read: ReadTrees;
  readonly #maxPaths: number;
  readonly #shapes = new Map<string, Shape>();
  readonly #sizes = new Map<string, TreeSize>();
  /** Place at which a tree was met first. */
  readonly #places = new Map<string, { readonly parent: string; readonly name: string }>();
  #entries = 0;

  constructor(read: ReadTrees, maxPaths: number) {
    this.#read = read;
    this.#maxPaths = maxPaths;
  }

  async measureAll(roots: readonly string[]): Promise<void> {
    await this.#readShapes(roots);
    for (const root of roots) await this.#combine(root);
  }

  async measure(root: string): Promise<TreeSize> {
    await this.measureAll([root]);
    const size = this.#sizeOf(root);
    const problem = problemOf(size, this.#maxPaths);
    if (problem === undefined) return size;
    throw new TreeLimitError(this.#guilty(root), problem);
  }

  /** Level by level: a level is one question to git. */
  async #readShapes(roots: readonly string[]): Promise<void> {
    let level = [...new Set(roots)];
    for (let depth = 0; level.length > 0; depth += 1) {
      if (depth > MAX_DEPTH) throw new TreeLimitError(this.#pathOf(level[0] ?? ''), tooDeep);
      const below = new Set<string>();
      for (let at = 0; at < level.length; at += CHUNK) {
        await this.#read(level.slice(at, at + CHUNK), (id, bytes) => this.#add(id, bytes, below));
        // Every tree that is read is at least once below the root.
        if (this.#entries > this.#maxPaths) {
          throw new TreeLimitError(this.#pathOf(level[at] ?? ''), tooMany(this.#maxPaths));
        }
      }
      level = [...below];
    }
  }

  #add(id: string, bytes: Buffer | undefined, below: Set<string>): void {
    if (bytes === undefined) throw new TreeLimitError(this.#pathOf(id), tooLarge);
    const shape = { paths: 0, depth: 0, longest: 0, folders: [] as Folder[] };
    let entries = 0;
    for (const entry = new TreeCursor(bytes); entry.next(); entries += 1) {
      if (!entry.isTree) {
        shape.longest = Math.max(shape.longest, entry.nameBytes);
        continue;
      }
      const size = known.get(entry.rawId);
      // One that is too large by itself is kept for its name.
      if (size !== undefined && problemOf(size, this.#maxPaths) === undefined) {
        grow(shape, entry.nameBytes, size);
      } else {
        const folder = { id: entry.id, name: entry.name };
        shape.folders.push(folder);
        this.#meet(folder, { parent: id, below, size });
      }
    }
    shape.paths += entries;
    this.#entries += entries;
    this.#shapes.set(id, shape);
  }

  #meet(
    { id, name }: Folder,
    { parent, below, size }: { parent: string; below: Set<string>; size: TreeSize | undefined },
  ): void {
    if (this.#places.has(id)) return;
    this.#places.set(id, { parent, name });
    if (size === undefined) below.add(id);
    else this.#sizes.set(id, size);
  }

  /** Children before parents, without recursion: a tree may be deeper than any stack. */
  async #combine(root: string): Promise<void> {
    const waiting = [root];
    let steps = 0;
    for (let id = waiting.at(-1); id !== undefined; id = waiting.at(-1)) {
      if (++steps % STEPS_AT_ONCE === 0) await setImmediate();
      const shape = this.#sizes.has(id) ? undefined : this.#shapes.get(id);
      const missing = shape?.folders.filter((folder) => !this.#sizes.has(folder.id)) ?? [];
      if (missing.length > 0) {
        for (const folder of missing) waiting.push(folder.id);
        continue;
      }
      waiting.pop();
      if (shape !== undefined) this.#keep(id, this.#sum(shape));
    }
  }

  #sum({ folders, paths, depth, longest }: Shape): TreeSize {
    const size = { paths, depth, longest };
    for (const { id, name } of folders) grow(size, name.length, this.#sizeOf(id));
    return size;
  }

  #keep(id: string, size: TreeSize): void {
    this.#sizes.set(id, size);
    known.set(keyOf(id), size);
    for (const oldest of known.keys()) {
      if (known.size <= MOST_KNOWN) break;
      known.delete(oldest);
    }
  }

  #sizeOf(id: string): TreeSize {
    return this.#sizes.get(id) ?? EMPTY;
  }

  /** Down to the folder that passes the limit by itself. */
  #guilty(root: string): string {
    const names: string[] = [];
    for (let shape = this.#shapes.get(root); shape !== undefined && names.length < MAX_DEPTH; ) {
      const next = shape.folders.find(
        ({ id }) => problemOf(this.#sizeOf(id), this.#maxPaths) !== undefined,
      );
      if (next === undefined) break;
      names.push(next.name);
      shape = this.#shapes.get(next.id);
    }
    return pathOfNames(names);
  }

  #pathOf(tree: string): string {
    const names: string[] = [];
    let place = this.#places.get(tree);
    while (place !== undefined) {
      names.push(place.name);
      place = this.#places.get(place.parent);
    }
    return pathOfNames(names.reverse());
  }
}
