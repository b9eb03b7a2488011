/**
 * Which paths a commit itself is to blame for. A merge takes most of what it brings from its
 * parents; what it decides on its own is its own, such as bringing an old version back.
 */
import type { HistoryCommit, PathChange, Repository } from '../repository.ts';

/** What has to be read to tell. */
export type MergeSource = Pick<Repository, 'diff' | 'mergeBases'>;

/** Every path that differs from a parent. */
export function changedPaths(commit: HistoryCommit): string[] {
  const lists = commit.changes;
  if (lists.length <= 1) return (lists[0] ?? []).map(({ path }) => path);
  return [...new Set(lists.flatMap((changes) => changes.map(({ path }) => path)))].sort();
}

/**
 * Those of `paths` that are the commit's own. In a merge a path is not when git would have merged it
 * so by itself: only one side changed the file since the sides parted, and the merge has that
 * side's version.
 */
export async function ownPaths(
  source: MergeSource,
  commit: HistoryCommit,
  paths: readonly string[],
): Promise<string[]> {
  if (commit.parents.length <= 1) return [...paths];
  const lists = commit.changes.map((changes) => new Set(changes.map(({ path }) => path)));
  const sides = new Sides(source, commit.parents);
  const own: string[] = [];
  for (const path of paths) if (!(await isTaken(path, lists, sides))) own.push(path);
  return own;
}

/** Whether each parent that has something else was overtaken by one that has this. */
async function isTaken(
  path: string,
  lists: readonly ReadonlySet<string>[],
  sides: Sides,
): Promise<boolean> {
  const all = lists.map((_, i) => i);
  const same = all.filter((i) => lists[i]?.has(path) === false);
  for (const other of all.filter((i) => !same.includes(i))) {
    let overtaken = false;
    for (const winner of same) {
      overtaken ||= !(await sides.changed({ since: winner, by: other })).has(path);
    }
    if (!overtaken) return false;
  }
  return true;
}

/** What the parents of a merge did since they parted, read once. */
class Sides {
  readonly #source: MergeSource;
  readonly #parents: readonly string[];
  readonly #known = new Map<string, Promise<ReadonlySet<string>>>();

  constructor(source: MergeSource, parents: readonly string[]) {
    this.#source = source;
    this.#parents = parents;
  }

  /** Paths that `by` changed since it and `since` parted; with several such points, since any. */
  changed({ since, by }: { since: number; by: number }): Promise<ReadonlySet<string>> {
    const key = `${since} ${by}`;
    const known = this.#known.get(key) ?? this.#read(since, by);
    this.#known.set(key, known);
    return known;
  }

  async #read(since: number, by: number): Promise<ReadonlySet<string>> {
    const [one = '', other = ''] = [this.#parents[since], this.#parents[by]];
    const bases = await this.#source.mergeBases(one, other);
    const starts = bases.length === 0 ? [undefined] : bases;
    const lists: PathChange[] = [];
    for (const base of starts) lists.push(...(await this.#source.diff(base, other)));
    return new Set(lists.map(({ path }) => path));
  }
}
