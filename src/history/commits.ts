/** The commits of the branch, newest first, with the files and objects that each changed. */
import type { ObjectKey } from '../apimachinery/index.ts';
import type { CommitIndex, PathHistory } from './commit-index.ts';

export interface BranchCommit {
  readonly revision: string;
  /** Committer time, in seconds since the epoch. */
  readonly time: number;
  /** The first of the changed files, by path. */
  readonly files: readonly ChangedFile[];
  /** Number of all changed files. */
  readonly fileCount: number;
}

/** A change relative to the first parent. */
export interface ChangedFile {
  readonly path: string;
  readonly change: 'added' | 'modified' | 'removed';
  /** Every object that a version of the file named. */
  readonly objects: readonly ObjectKey[];
}

const MOST_FILES = 50;

/** At most `limit` commits of the first-parent line, from `start` on. `next`: the one after; -1: there is none. */
export function commitsFrom(
  index: CommitIndex,
  start: number,
  { limit, of }: { readonly limit: number; readonly of?: readonly ObjectKey[] | undefined },
): { readonly commits: readonly BranchCommit[]; readonly next: number } {
  const wanted = of === undefined ? undefined : commitsOf(index, of);
  const ordinals: number[] = [];
  let at = start;
  for (; at >= 0; at = index.firstParent(at)) {
    if (wanted?.has(at) === false) continue;
    if (ordinals.length === limit) break;
    ordinals.push(at);
  }
  const changed = filesOf(index, ordinals);
  const commits = ordinals.map((ordinal): BranchCommit => {
    const files = changed.get(ordinal) ?? [];
    const revision = index.id(ordinal);
    const shown = files.slice(0, MOST_FILES);
    return { revision, time: index.time(ordinal), files: shown, fileCount: files.length };
  });
  return { commits, next: at };
}

/** Commits that changed a file which ever named one of the objects. */
function commitsOf(index: CommitIndex, keys: readonly ObjectKey[]): ReadonlySet<number> {
  const files = keys.flatMap((key) => index.pathsOf(key));
  return new Set(files.flatMap(({ versions }) => versions.map(({ at }) => at)));
}

/** One pass over all paths: a path has few versions, and a page few commits. */
function filesOf(index: CommitIndex, ordinals: readonly number[]): Map<number, ChangedFile[]> {
  const files = new Map(ordinals.map((ordinal): [number, ChangedFile[]] => [ordinal, []]));
  const oldest = Math.min(...ordinals);
  for (const history of index.paths()) {
    const { versions } = history;
    for (let at = versions.length - 1; at >= 0; at--) {
      const ordinal = versions[at]?.at ?? -1;
      if (ordinal < oldest) break;
      files.get(ordinal)?.push(changeAt(history, at));
    }
  }
  for (const list of files.values()) list.sort((a, b) => (a.path < b.path ? -1 : 1));
  return files;
}

function changeAt({ path, versions, keys }: PathHistory, at: number): ChangedFile {
  const isThere = versions[at]?.blob !== undefined;
  const wasThere = versions[at - 1]?.blob !== undefined;
  const change = !isThere ? 'removed' : wasThere ? 'modified' : 'added';
  return { path, change, objects: keys };
}
