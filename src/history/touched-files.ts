/** Files that matter to a comparison of two commits. */
import type { ObjectKey } from '../apimachinery/index.ts';
import type { PathHistory } from './commit-index.ts';
import { ignorePath, rulePaths } from './index-reader.ts';
import type { RestrictedContext } from './path-limited-history.ts';

/** Files that later commits touched; undefined if every file may matter. */
export function touchedSince(
  { index, under }: RestrictedContext,
  present: number | undefined,
  past: number,
): PathHistory[] | undefined {
  const narrowest = present === undefined ? undefined : index.narrowest(past, present);
  if (narrowest === undefined || present === undefined) return undefined;
  // Identities are counted from the first commit of the first-parent line.
  if (index.root(past) !== index.root(present)) return undefined;
  const { at: start, behind } = narrowest;
  const isBehind = ({ versions }: PathHistory): boolean => {
    for (let i = versions.length - 1; i >= 0; i--) {
      const at = versions[i]?.at ?? -1;
      if (at < start) return false;
      if (behind[at] === 1) return true;
    }
    return false;
  };
  const ignore = index.path(ignorePath(under));
  if (ignore !== undefined && isBehind(ignore)) return undefined;
  return [...index.paths()].filter(isBehind);
}

/** Every file that ever named one of the objects, and the ignore file. */
export function filesOf(
  { index, under }: RestrictedContext,
  keys: ReadonlyMap<string, ObjectKey>,
): PathHistory[] {
  const files = new Set<PathHistory>(rulePaths(under).flatMap((path) => index.path(path) ?? []));
  for (const key of keys.values()) for (const path of index.pathsOf(key)) files.add(path);
  return [...files];
}
