/**
 * Compares two trees entry by entry and reads only the folders that differ. It counts the paths that a
 * full comparison would list, and reports new names that are not accepted. Trees are measured before.
 */
import { nameFlaw } from '../objects/portable-name.ts';
import { changedEntries, TreeCursor } from '../objects/tree-cursor.ts';
import type { PushObjection } from '../repository.ts';
import type { CommitLimits } from './commit-limits.ts';
import { pathOfNames, TreeLimitError } from './tree-limits.ts';
import type { ReadTrees } from './tree-sizes.ts';

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

/** Entries to compare below a pair of folders. */
interface Differences {
  /** Entries of the folders themselves. */
  readonly entries: number;
  readonly pairs: readonly FolderPair[];
  readonly removed: readonly string[];
}

/** Limit for reported flaws. The rest is reported once these are fixed. */
const MAX_FLAWS = 100;

export class AddedPaths {
  readonly flaws: PushObjection[] = [];
  readonly #options: AddedPathsOptions;
  readonly #counts = new Map<string, number>();
  #total = 0;

  constructor(options: AddedPathsOptions) {
    this.#options = options;
  }

  /** `old` undefined: everything is new. Throws a TreeLimitError above the limit. */
  async add(old: string | undefined, now: string): Promise<void> {
    this.#total += await this.#count({ old, now, name: '' }, []);
    this.#assert(this.#total);
  }

  /** Recursion is safe: the depth of a measured tree is limited. */
  async #count({ old, now }: FolderPair, names: readonly string[]): Promise<number> {
    if (old === now) return 0;
    const key = `${old ?? ''} ${now}`;
    const known = this.#counts.get(key);
    if (known !== undefined) return known;
    // Two different folders have at least one different path, so there are no more pairs than paths.
    this.#assert(this.#counts.size);
    const { entries, pairs, removed } = await this.#differences({ old, now }, names);
    let count = entries;
    for (const id of removed) count += await this.#options.bounds.pathsOf(id);
    for (const pair of pairs) count += await this.#count(pair, [...names, pair.name]);
    this.#counts.set(key, count);
    return count;
  }

  #assert(paths: number): void {
    const { maxPaths } = this.#options;
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
    const removed: string[] = [];
    let entries = 0;
    for (const how of changedEntries(before, after)) {
      entries += 1;
      if (how === 'removed') {
        if (before.isTree) removed.push(before.id);
        continue;
      }
      if (how === 'added') this.#check(after, names);
      else if (!before.isSubmodule) this.#checkMode(after, names);
      const old = how === 'changed' ? before.id : undefined;
      if (after.isTree) pairs.push({ old, now: after.id, name: after.name });
    }
    return { entries, pairs, removed };
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
