/**
 * Paths that a commit itself changed. A merge takes most of its content from its parents; only paths
 * that git would not have merged that way count as its own, for example a restored old version.
 */
import type { HistoryCommit, PathChange, Repository } from '../repository.ts';

/** Read access that the computation needs. */
export type MergeSource = Pick<Repository, 'diff' | 'mergeBases'>;

/** Paths that differ from any parent. */
export function changedPaths(commit: HistoryCommit): string[] {
  const lists = commit.changes;
  if (lists.length <= 1) return (lists[0] ?? []).map(({ path }) => path);
  return [...new Set(lists.flatMap((changes) => changes.map(({ path }) => path)))].sort();
}

/**
 * Filters `paths` for those that the commit itself changed. In a merge, a path does not count if git
 * would have merged it the same way: only one side changed the file since the merge base, and the merge
 * has the version of that side.
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
  for (const path of paths) if (!(await isInherited(path, lists, sides))) own.push(path);
  return own;
}

/** True if each parent with another version is superseded by a parent with this version. */
async function isInherited(
  path: string,
  lists: readonly ReadonlySet<string>[],
  sides: Sides,
): Promise<boolean> {
  const all = lists.map((_, i) => i);
  const same = all.filter((i) => lists[i]?.has(path) === false);
  for (const other of all.filter((i) => !same.includes(i))) {
    let superseded = false;
    for (const winner of same) {
      superseded ||= !(await sides.changed({ since: winner, by: other })).has(path);
    }
    if (!superseded) return false;
  }
  return true;
}

/** Changes of the parents of a merge since their merge bases, each read once. */
class Sides {
  readonly #source: MergeSource;
  readonly #parents: readonly string[];
  readonly #known = new Map<string, Promise<ReadonlySet<string>>>();

  constructor(source: MergeSource, parents: readonly string[]) {
    this.#source = source;
    this.#parents = parents;
  }

  /** Paths that `by` changed since its merge base with `since`; with several bases, since any. */
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
