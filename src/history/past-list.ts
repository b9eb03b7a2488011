/**
 * Every object of a collection at a past commit. Objects that no later commit touched come from the
 * present; only the rest is folded from history, so that the cost follows the number of changes
 * since.
 */
import { keyString, type ObjectKey } from '../apimachinery/index.ts';
import type { CatalogObject } from '../catalog/index.ts';
import { type Collection, compareKeys } from '../state/index.ts';
import type { PathHistory } from './commit-index.ts';
import { ignorePath, rulePaths } from './index-reader.ts';
import { foldPaths, type RestrictedContext } from './path-limited-history.ts';

/** Objects of a collection in the catalog of one commit. */
export interface LivingList {
  readonly objects: readonly CatalogObject[];
  /** Of that commit; undefined if the index does not have it. */
  readonly ordinal: number | undefined;
}

export interface PastList {
  /** In list order. */
  readonly objects: readonly CatalogObject[];
  /** Number of objects that are not shared with the present. */
  readonly folded: number;
}

export async function listAt(
  context: RestrictedContext,
  wish: { readonly collection: Collection; readonly living: LivingList; readonly last: number },
): Promise<PastList> {
  const { collection, living, last } = wish;
  const { index } = context;
  const touched = touchedSince(context, living.ordinal, last);
  const keys = new Map<string, ObjectKey>();
  for (const { keys: named } of touched ?? index.paths()) {
    for (const key of named) if (isIn(collection, key)) keys.set(keyString(key), key);
  }
  const objects =
    touched === undefined ? [] : living.objects.filter(({ key }) => !keys.has(keyString(key)));
  const untouched = objects.length;
  if (keys.size > 0) {
    const root = index.root(last);
    const { catalog } = await foldPaths(context, { files: filesOf(context, keys), last, root });
    for (const key of keys.values()) {
      const object = catalog.object(key);
      if (object !== undefined) objects.push(object);
    }
  }
  objects.sort((a, b) => compareKeys(a.key, b.key));
  return { objects, folded: objects.length - untouched };
}

export function isIn({ group, kind, namespace }: Collection, key: ObjectKey): boolean {
  if (key.kind !== kind || key.group !== group) return false;
  return namespace === undefined || key.namespace === namespace;
}

/** Files that later commits touched; undefined if every file may matter. */
function touchedSince(
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
function filesOf(
  { index, under }: RestrictedContext,
  keys: ReadonlyMap<string, ObjectKey>,
): PathHistory[] {
  const files = new Set<PathHistory>(rulePaths(under).flatMap((path) => index.path(path) ?? []));
  for (const key of keys.values()) for (const path of index.pathsOf(key)) files.add(path);
  return [...files];
}
