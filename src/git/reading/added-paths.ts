/**
 * Compares two trees entry by entry and reads only the folders that differ. It counts the paths that a
 * full comparison would list, and reports new names that are not accepted. Trees are measured before.
 */
import { nameFlaw } from '../objects/portable-name.ts';
import { changedEntries, TreeCursor } from '../objects/tree-cursor.ts';
import type { PushObjection } from '../repository.ts';
import type { CommitLimits } from './commit-limits.ts';
import { listBytes, MAX_LIST_BYTES, pathOfNames, TreeLimitError } from './tree-limits.ts';
import type { ReadTrees, TreeSize } from './tree-sizes.ts';

export interface AddedPathsOptions {
  readonly read: ReadTrees;
  /** Limits of what is read. */
  readonly bounds: CommitLimits;
  /** Limit for the paths of all comparisons together. */
  readonly maxPaths: number;
}

interface FolderPair {
  readonly old: string | undefined;
  readonly now: string;
  readonly name: string;
}

/** Changed paths, relative to their folder. */
type PathCount = Pick<TreeSize, 'paths' | 'pathBytes'>;

/** Entries to compare below a pair of folders. */
interface Differences {
  /** Entries of the folders themselves. */
  readonly entries: PathCount;
  readonly pairs: readonly FolderPair[];
  readonly removed: readonly Omit<FolderPair, 'old'>[];
}

const NONE: PathCount = { paths: 0, pathBytes: 0 };
/** Limit for reported flaws. The rest is reported once these are fixed. */
const MAX_FLAWS = 100;

export class AddedPaths {
  readonly flaws: PushObjection[] = [];
  readonly #options: AddedPathsOptions;
  readonly #counts = new Map<string, PathCount>();
  #total: PathCount = NONE;

  constructor(options: AddedPathsOptions) {
    this.#options = options;
  }

  /** `old` undefined: everything is new. Throws a TreeLimitError above the limit. */
  async add(old: string | undefined, now: string): Promise<void> {
    const { paths, pathBytes } = await this.#count({ old, now, name: '' }, []);
    const { paths: before, pathBytes: beforeBytes } = this.#total;
    this.#total = { paths: before + paths, pathBytes: beforeBytes + pathBytes };
    this.#assert(this.#total);
  }

  /** Recursion is safe: the depth of a measured tree is limited. */
  async #count({ old, now }: FolderPair, names: readonly string[]): Promise<PathCount> {
    if (old === now) return NONE;
    const key = `${old ?? ''} ${now}`;
    const known = this.#counts.get(key);
    if (known !== undefined) return known;
    // Two different folders have at least one different path, so there are no more pairs than paths.
    this.#assert({ ...NONE, paths: this.#counts.size });
    const { entries, pairs, removed } = await this.#differences({ old, now }, names);
    let { paths, pathBytes } = entries;
    const add = (name: string, below: PathCount): void => {
      paths += below.paths;
      pathBytes += below.pathBytes + below.paths * (name.length + 1);
    };
    for (const { now: id, name } of removed) add(name, await this.#options.bounds.sizeOf(id));
    for (const pair of pairs) add(pair.name, await this.#count(pair, [...names, pair.name]));
    const count = { paths, pathBytes };
    this.#counts.set(key, count);
    return count;
  }

  #assert({ paths, pathBytes }: PathCount): void {
    const { maxPaths } = this.#options;
    if (listBytes({ paths, pathBytes }) > MAX_LIST_BYTES) {
      const most = MAX_LIST_BYTES / 2 ** 20;
      throw new TreeLimitError(
        '',
        `changes paths of more than ${most} MiB in the commits of this push`,
      );
    }
    if (paths <= maxPaths) return;
    throw new TreeLimitError(
      '',
      `changes more than ${maxPaths} times in the commits of this push (--push-max-paths)`,
    );
  }

  async #differences(
    { old, now }: Pick<FolderPair, 'old' | 'now'>,
    names: readonly string[],
  ): Promise<Differences> {
    const bytes = new Map<string, Buffer>();
    const ids = old === undefined ? [now] : [old, now];
    await this.#options.read(ids, (id, content) => void bytes.set(id, content ?? Buffer.alloc(0)));
    const before = new TreeCursor(bytes.get(old ?? '') ?? Buffer.alloc(0));
    const after = new TreeCursor(bytes.get(now) ?? Buffer.alloc(0));
    return this.#merge(before, after, names);
  }

  #merge(before: TreeCursor, after: TreeCursor, names: readonly string[]): Differences {
    const pairs: FolderPair[] = [];
    const removed: Omit<FolderPair, 'old'>[] = [];
    let paths = 0;
    let pathBytes = 0;
    for (const how of changedEntries(before, after)) {
      paths += 1;
      if (how === 'removed') {
        pathBytes += before.nameBytes;
        if (before.isTree) removed.push({ now: before.id, name: before.name });
        continue;
      }
      pathBytes += after.nameBytes;
      if (how === 'added') this.#check(after, names);
      else if (!before.isSubmodule) this.#checkMode(after, names);
      const old = how === 'changed' ? before.id : undefined;
      if (after.isTree) pairs.push({ old, now: after.id, name: after.name });
    }
    return { entries: { paths, pathBytes }, pairs, removed };
  }

  #check(entry: TreeCursor, names: readonly string[]): void {
    const { name } = entry;
    const flaw = nameFlaw(name);
    if (name === '.' || name === '..') {
      this.#report([...names, name], 'The path leads out of its tree and is never followed');
    } else if (flaw !== undefined) {
      this.#report([...names, name], `The path cannot be used: ${flaw}; rename the file`);
    }
    this.#checkMode(entry, names);
  }

  #checkMode({ name, isSubmodule }: TreeCursor, names: readonly string[]): void {
    if (!isSubmodule) return;
    this.#report([...names, name], 'A submodule is never followed; commit the file itself');
  }

  #report(names: readonly string[], problem: string): void {
    if (this.flaws.length >= MAX_FLAWS) return;
    const path = pathOfNames(names);
    const isKnown = this.flaws.some((flaw) => flaw.path === path && flaw.problem === problem);
    if (!isKnown) this.flaws.push({ path, problem });
  }
}
