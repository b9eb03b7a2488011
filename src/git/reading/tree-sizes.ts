/**
 * Counts the paths of a tree before a git process reads it. Equal folders are one object in git, so
 * that a few kilobytes can stand for billions of paths. Each distinct tree is read once, and its count
 * is multiplied.
 */
import { setImmediate } from 'node:timers/promises';
import { TreeCursor } from '../objects/tree-cursor.ts';
import {
  listBytes,
  MAX_DEPTH,
  MAX_PATH_BYTES,
  pathOfNames,
  TreeLimitError,
  type TreeLimits,
} from './tree-limits.ts';

export interface TreeSize {
  /** Files and folders below; Infinity above the range of a number. */
  readonly paths: number;
  /** Bytes of all paths together. */
  readonly pathBytes: number;
  /** Depth of nested folders. */
  readonly depth: number;
  /** Length of the longest path below, in bytes. */
  readonly longest: number;
  /** Entries and bytes of the widest folder, which may be the tree itself. */
  readonly entries: number;
  readonly bytes: number;
  /** Bytes of the largest tree object, which may be the tree itself. */
  readonly largest: number;
  /** The widest folders with at least `WIDE_ENTRIES` entries, widest first. */
  readonly wide: readonly WideFolder[];
}

/** A folder whose tree makes each commit that changes one of its files expensive. */
export interface WideFolder {
  /** Names joined by `/`, one character per byte; `''` is the measured tree. */
  readonly path: string;
  readonly entries: number;
  readonly bytes: number;
}

/** Called once per tree, in any order; without bytes for a tree above MAX_TREE_BYTES. */
export type TakeTree = (id: string, bytes: Buffer | undefined) => void;
export type ReadTrees = (ids: readonly string[], take: TakeTree) => Promise<void>;

interface Folder {
  readonly id: string;
  readonly name: string;
}

/** One tree object: the size of its known part, and the folders that are not measured yet. */
interface Shape extends TreeSize {
  readonly folders: readonly Folder[];
}

/** Sizes by raw id. The size of a tree follows from its id, in any repository. */
const known = new Map<string, TreeSize>();
const MAX_KNOWN = 250_000;
const MAX_REFUSED = 1000;
/** Trees per request. */
const CHUNK = 64;
/** Steps between two yields to the event loop. */
const STEPS_PER_YIELD = 10_000;
const NONE: readonly WideFolder[] = [];
const EMPTY: TreeSize = {
  paths: 0,
  pathBytes: 0,
  depth: 0,
  longest: 0,
  entries: 0,
  bytes: 0,
  largest: 0,
  wide: NONE,
};
const WIDE_ENTRIES = 1000;
const MAX_WIDE_FOLDERS = 10;

export class TreeSizes {
  readonly #read: ReadTrees;
  readonly #limits: TreeLimits;
  /** Cached, because the same tree is measured many times. */
  readonly #refused = new Map<string, TreeLimitError>();

  constructor(read: ReadTrees, limits: TreeLimits) {
    this.#read = read;
    this.#limits = limits;
  }

  /** Measures many trees with few requests. Trees above a limit are reported later by `measure`. */
  async prepare(roots: readonly string[]): Promise<void> {
    const unknown = roots.filter((root) => !known.has(keyOf(root)) && !this.#refused.has(root));
    if (unknown.length < 2) return;
    try {
      await new Measurement(this.#read, this.#limits).measureAll(unknown);
    } catch (error) {
      if (!(error instanceof TreeLimitError)) throw error;
    }
  }

  /** Throws a TreeLimitError with the path of the folder. */
  async measure(root: string): Promise<TreeSize> {
    const refused = this.#refused.get(root);
    if (refused !== undefined) throw refused;
    const size = known.get(keyOf(root));
    if (size !== undefined && problemOf(size, this.#limits) === undefined) return size;
    try {
      return await new Measurement(this.#read, this.#limits).measure(root);
    } catch (error) {
      if (!(error instanceof TreeLimitError)) throw error;
      if (this.#refused.size >= MAX_REFUSED) this.#refused.clear();
      this.#refused.set(root, error);
      throw error;
    }
  }
}

function problemOf(
  { paths, pathBytes, depth, longest, largest }: TreeSize,
  limits: TreeLimits,
): string | undefined {
  const { maxPaths, maxTreeBytes, maxListBytes } = limits;
  if (depth > MAX_DEPTH) return tooDeep;
  if (paths > maxPaths) return tooMany(limits);
  if (largest > maxTreeBytes) return tooLarge(maxTreeBytes);
  if (listBytes({ paths, pathBytes }) > maxListBytes) return tooLong(maxListBytes);
  return longest > MAX_PATH_BYTES ? `has a path of more than ${MAX_PATH_BYTES} bytes` : undefined;
}

/** Adds the size of a folder to the size of the tree that contains it. */
function grow(
  tree: Growing,
  folder: { readonly nameBytes: number; readonly name: string },
  below: TreeSize,
): void {
  tree.paths += below.paths;
  tree.pathBytes += below.pathBytes + below.paths * (folder.nameBytes + 1);
  tree.depth = Math.max(tree.depth, below.depth + 1);
  tree.longest = Math.max(tree.longest, folder.nameBytes + 1 + below.longest);
  tree.largest = Math.max(tree.largest, below.largest);
  if (below.entries > tree.entries)
    Object.assign(tree, { entries: below.entries, bytes: below.bytes });
  if (below.wide.length === 0) return;
  const { name } = folder;
  const wide = below.wide.map((one) => ({
    ...one,
    path: one.path === '' ? name : `${name}/${one.path}`,
  }));
  tree.wide = widest([...tree.wide, ...wide]);
}

type Growing = { -readonly [Field in keyof TreeSize]: TreeSize[Field] };

function widest(folders: readonly WideFolder[]): WideFolder[] {
  return folders.toSorted((a, b) => b.entries - a.entries).slice(0, MAX_WIDE_FOLDERS);
}

/** Counts the tree itself among its folders. */
function addSelf(tree: Growing, entries: number, bytes: number): void {
  tree.largest = Math.max(tree.largest, bytes);
  if (entries > tree.entries) Object.assign(tree, { entries, bytes });
  if (entries < WIDE_ENTRIES) return;
  tree.wide = widest([...tree.wide, { path: '', entries, bytes }]);
}

function keyOf(id: string): string {
  return Buffer.from(id, 'hex').toString('latin1');
}

const tooDeep = `is more than ${MAX_DEPTH} folders deep`;

function tooLarge(bytes: number): string {
  return `is a folder of more than ${bytes / 2 ** 20} MiB, which are the names of its entries`;
}

function tooLong(bytes: number): string {
  return `has a list of paths of more than ${bytes / 2 ** 20} MiB`;
}

function tooMany({ maxPaths, option }: TreeLimits): string {
  return `has more than ${maxPaths} paths (${option})`;
}

/** One measurement; it ends as soon as a limit is exceeded. */
class Measurement {
  readonly #read: ReadTrees;
  readonly #limits: TreeLimits;
  readonly #shapes = new Map<string, Shape>();
  readonly #sizes = new Map<string, TreeSize>();
  /** Parent and name at the first occurrence of each tree. */
  readonly #origins = new Map<string, { readonly parent: string; readonly name: string }>();
  #entries = 0;

  constructor(read: ReadTrees, limits: TreeLimits) {
    this.#read = read;
    this.#limits = limits;
  }

  async measureAll(roots: readonly string[]): Promise<void> {
    await this.#readShapes(roots);
    for (const root of roots) await this.#combine(root);
  }

  async measure(root: string): Promise<TreeSize> {
    await this.measureAll([root]);
    const size = this.#sizeOf(root);
    const problem = problemOf(size, this.#limits);
    if (problem === undefined) return size;
    throw new TreeLimitError(this.#culprit(root), problem);
  }

  /** Reads level by level, one request per chunk of a level. */
  async #readShapes(roots: readonly string[]): Promise<void> {
    let level = [...new Set(roots)];
    for (let depth = 0; level.length > 0; depth += 1) {
      if (depth > MAX_DEPTH) throw new TreeLimitError(this.#pathOf(level[0] ?? ''), tooDeep);
      const below = new Set<string>();
      for (let at = 0; at < level.length; at += CHUNK) {
        await this.#read(level.slice(at, at + CHUNK), (id, bytes) => this.#add(id, bytes, below));
        // Every tree that is read occurs at least once below the root.
        if (this.#entries > this.#limits.maxPaths) {
          throw new TreeLimitError(this.#pathOf(level[at] ?? ''), tooMany(this.#limits));
        }
      }
      level = [...below];
    }
  }

  #add(id: string, bytes: Buffer | undefined, below: Set<string>): void {
    const { maxTreeBytes } = this.#limits;
    if (bytes === undefined || bytes.length > maxTreeBytes) {
      throw new TreeLimitError(this.#pathOf(id), tooLarge(maxTreeBytes));
    }
    const folders: Folder[] = [];
    const shape: Growing & { readonly folders: readonly Folder[] } = { ...EMPTY, folders };
    let entries = 0;
    for (const entry = new TreeCursor(bytes); entry.next(); entries += 1) {
      shape.pathBytes += entry.nameBytes;
      if (!entry.isTree) {
        shape.longest = Math.max(shape.longest, entry.nameBytes);
        continue;
      }
      const size = known.get(entry.rawId);
      // A folder that exceeds a limit by itself is recorded for its name.
      if (size !== undefined && problemOf(size, this.#limits) === undefined) {
        grow(shape, entry, size);
      } else {
        const folder = { id: entry.id, name: entry.name };
        folders.push(folder);
        this.#addFolder(folder, { parent: id, below, size });
      }
    }
    shape.paths += entries;
    addSelf(shape, entries, bytes.length);
    this.#entries += entries;
    this.#shapes.set(id, shape);
  }

  #addFolder(
    { id, name }: Folder,
    { parent, below, size }: { parent: string; below: Set<string>; size: TreeSize | undefined },
  ): void {
    if (this.#origins.has(id)) return;
    this.#origins.set(id, { parent, name });
    if (size === undefined) below.add(id);
    else this.#sizes.set(id, size);
  }

  /** Sums up children before parents, without recursion: a tree may be deeper than the stack. */
  async #combine(root: string): Promise<void> {
    const waiting = [root];
    let steps = 0;
    for (let id = waiting.at(-1); id !== undefined; id = waiting.at(-1)) {
      if (++steps % STEPS_PER_YIELD === 0) await setImmediate();
      const shape = this.#sizes.has(id) ? undefined : this.#shapes.get(id);
      const missing = shape?.folders.filter((folder) => !this.#sizes.has(folder.id)) ?? [];
      if (missing.length > 0) {
        for (const folder of missing) waiting.push(folder.id);
        continue;
      }
      waiting.pop();
      if (shape !== undefined) this.#setSize(id, this.#sum(shape));
    }
  }

  #sum({ folders, ...measured }: Shape): TreeSize {
    const size: Growing = { ...measured };
    for (const { id, name } of folders) {
      grow(size, { name, nameBytes: name.length }, this.#sizeOf(id));
    }
    return size;
  }

  #setSize(id: string, size: TreeSize): void {
    this.#sizes.set(id, size);
    known.set(keyOf(id), size);
    for (const oldest of known.keys()) {
      if (known.size <= MAX_KNOWN) break;
      known.delete(oldest);
    }
  }

  #sizeOf(id: string): TreeSize {
    return this.#sizes.get(id) ?? EMPTY;
  }

  /** Path of the deepest folder that exceeds a limit by itself. */
  #culprit(root: string): string {
    const names: string[] = [];
    for (let shape = this.#shapes.get(root); shape !== undefined && names.length < MAX_DEPTH; ) {
      const next = shape.folders.find(
        ({ id }) => problemOf(this.#sizeOf(id), this.#limits) !== undefined,
      );
      if (next === undefined) break;
      names.push(next.name);
      shape = this.#shapes.get(next.id);
    }
    return pathOfNames(names);
  }

  #pathOf(tree: string): string {
    const names: string[] = [];
    let origin = this.#origins.get(tree);
    while (origin !== undefined) {
      names.push(origin.name);
      origin = this.#origins.get(origin.parent);
    }
    return pathOfNames(names.reverse());
  }
}
