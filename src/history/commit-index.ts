/**
 * Index of the commits of the branch, in memory: their ancestry, times, and changed paths. With it
 * the history of one object is read without reading every other commit.
 * Commits have ordinals, parents before children. Changes are relative to the first parent: every
 * version of a path was introduced by such a change.
 */
import type { ObjectKey } from '../apimachinery/index.ts';

/** Version of a path in one commit. */
export interface PathVersion {
  /** Ordinal of the commit. */
  readonly at: number;
  /** Undefined: the commit removed the path. */
  readonly blob: string | undefined;
  readonly mode: string;
}

export interface PathHistory {
  readonly path: string;
  /** Sorted by ordinal. */
  readonly versions: PathVersion[];
  /** Every object that any version of the file named. */
  readonly keys: ObjectKey[];
}

/** A smaller history: only the commits that affect certain paths. */
export interface Skeleton {
  /** Parents before children, including all branches that lead to the last one. */
  readonly commits: readonly SkeletonCommit[];
}

export interface SkeletonCommit {
  readonly ordinal: number;
  /** The nearest relevant ancestors, in place of the real parents. */
  readonly parents: readonly number[];
}

export class CommitIndex {
  readonly #ids: string[] = [];
  readonly #ordinals = new Map<string, number>();
  readonly #times: number[] = [];
  /** -1 for commits without parents. */
  readonly #firstParents: number[] = [];
  readonly #otherParents = new Map<number, readonly number[]>();
  #lastMerge = -1;
  readonly #paths = new Map<string, PathHistory>();
  /** By object name: the paths that ever held an object of that name. */
  readonly #byName = new Map<string, PathHistory | PathHistory[]>();

  get size(): number {
    return this.#ids.length;
  }

  /** Parents must be known. Returns the ordinal. */
  add(commit: {
    readonly id: string;
    readonly parents: readonly string[];
    readonly committerTime: number;
  }): number {
    const ordinal = this.#ids.push(commit.id) - 1;
    const [first = -1, ...others] = commit.parents.map((id) => this.#known(id));
    this.#ordinals.set(commit.id, ordinal);
    this.#times.push(commit.committerTime);
    this.#firstParents.push(first);
    if (others.length > 0) {
      this.#otherParents.set(ordinal, others);
      this.#lastMerge = ordinal;
    }
    return ordinal;
  }

  addVersion(path: string, version: PathVersion): PathHistory {
    let history = this.#paths.get(path);
    if (history === undefined) {
      history = { path, versions: [], keys: [] };
      this.#paths.set(path, history);
    }
    history.versions.push(version);
    return history;
  }

  addKey(history: PathHistory, key: ObjectKey): void {
    if (history.keys.some((known) => sameKey(known, key))) return;
    history.keys.push(key);
    const there = this.#byName.get(key.name);
    if (there === undefined) this.#byName.set(key.name, history);
    else if (!Array.isArray(there)) {
      if (there !== history) this.#byName.set(key.name, [there, history]);
    } else if (!there.includes(history)) there.push(history);
  }

  ordinal(id: string): number | undefined {
    return this.#ordinals.get(id);
  }

  id(ordinal: number): string {
    return this.#ids[ordinal] ?? '';
  }

  /** Seconds since the epoch. */
  time(ordinal: number): number {
    return this.#times[ordinal] ?? 0;
  }

  parents(ordinal: number): readonly number[] {
    const first = this.firstParent(ordinal);
    return first < 0 ? [] : [first, ...(this.#otherParents.get(ordinal) ?? [])];
  }

  /** -1: there is none. */
  firstParent(ordinal: number): number {
    return this.#firstParents[ordinal] ?? -1;
  }

  /** Ids with this prefix; at most the first few. */
  idsWith(digits: string): string[] {
    const found: string[] = [];
    for (const id of this.#ids) {
      if (id.startsWith(digits) && found.push(id) > MAX_NAMED) break;
    }
    return found;
  }

  path(path: string): PathHistory | undefined {
    return this.#paths.get(path);
  }

  paths(): IterableIterator<PathHistory> {
    return this.#paths.values();
  }

  /** Every file that ever named the object. */
  pathsOf(key: ObjectKey): PathHistory[] {
    const named = this.#byName.get(key.name);
    const candidates = named === undefined || Array.isArray(named) ? (named ?? []) : [named];
    return candidates.filter(({ keys }) => keys.some((known) => sameKey(known, key)));
  }

  /** True if no commit after `last` changed one of the paths, or merged branches. */
  isQuiet(paths: readonly PathHistory[], last: number): boolean {
    if (this.#lastMerge > last) return false;
    return paths.every(({ versions }) => (versions.at(-1)?.at ?? 0) <= last);
  }

  /** True if the first-parent line of `last` has the commit. */
  isOnLine(ordinal: number, last: number): boolean {
    let at = last;
    while (at > ordinal) at = this.firstParent(at);
    return at === ordinal;
  }

  /** The merge that brought a commit to the first-parent line of `last`. */
  mergeOf(ordinal: number, last: number): number {
    const line = new Set<number>();
    for (let at = last; at > ordinal; at = this.firstParent(at)) line.add(at);
    const descendants = new Set([ordinal]);
    for (let at = ordinal + 1; at < last; at++) {
      if (!this.parents(at).some((parent) => descendants.has(parent))) continue;
      if (line.has(at)) return at;
      descendants.add(at);
    }
    return last;
  }

  /** The first commit of the first-parent line of `ordinal`. */
  root(ordinal: number): number {
    let at = ordinal;
    for (let next = at; next >= 0; next = this.firstParent(at)) at = next;
    return at;
  }

  /**
   * The history of some paths up to `last`: commits that changed one of them, commits without
   * parents, and merges of branches that differ. Every other commit equals its first parent.
   */
  skeleton(paths: Iterable<PathHistory>, last: number): Skeleton {
    const changed = new Uint8Array(last + 1);
    for (const { versions } of paths) {
      for (const { at } of versions) if (at <= last) changed[at] = 1;
    }
    const stands = new Int32Array(last + 1);
    for (let at = 0; at <= last; at++) stands[at] = this.#standFor(at, changed, stands);
    return { commits: this.#reaching(stands[last] ?? 0, stands) };
  }

  /**
   * The newest commit at or before `past` that the whole history up to `last` passes through: paths
   * that no later commit touched are the same at `past` and `last`. Undefined if there is none.
   */
  narrowest(past: number, last: number): { at: number; behind: Uint8Array } | undefined {
    const behind = new Uint8Array(last + 1);
    const open = new Set([last]);
    for (let at = last; at >= 0 && open.size > 0; at--) {
      if (!open.has(at)) continue;
      if (open.size === 1 && at <= past) return { at, behind };
      open.delete(at);
      behind[at] = 1;
      for (const parent of this.parents(at)) open.add(parent);
    }
    return undefined;
  }

  /** The relevant commit whose paths equal those of `at`. */
  #standFor(at: number, changed: Uint8Array, stands: Int32Array): number {
    const first = this.firstParent(at);
    if (first < 0 || changed[at] === 1) return at;
    const stand = stands[first] ?? at;
    const others = this.#otherParents.get(at);
    return others === undefined || others.every((other) => stands[other] === stand) ? stand : at;
  }

  #reaching(last: number, stands: Int32Array): SkeletonCommit[] {
    const found = new Map<number, SkeletonCommit>();
    const waiting = [last];
    for (let ordinal = waiting.pop(); ordinal !== undefined; ordinal = waiting.pop()) {
      if (found.has(ordinal)) continue;
      const parents = this.parents(ordinal).map((parent) => stands[parent] ?? parent);
      found.set(ordinal, { ordinal, parents });
      waiting.push(...parents);
    }
    return [...found.values()].sort((a, b) => a.ordinal - b.ordinal);
  }

  #known(id: string): number {
    const ordinal = this.#ordinals.get(id);
    if (ordinal === undefined) throw new Error(`The history reaches ${id} after its child`);
    return ordinal;
  }
}

const MAX_NAMED = 5;

export function sameKey(a: ObjectKey, b: ObjectKey): boolean {
  return (
    a.name === b.name && a.namespace === b.namespace && a.kind === b.kind && a.group === b.group
  );
}
