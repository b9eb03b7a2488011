/** Manifests that a push changed. */
import { jsonEqual, keyString, sameKey } from '../../../apimachinery/index.ts';
import type { DocumentEntry, FileEntry, SeenPath } from '../../../catalog/index.ts';
import type { PathChange } from '../../../git/index.ts';

/** A manifest before and after. */
export interface Touched {
  readonly path: string;
  readonly base: FileEntry | undefined;
  readonly pushed: FileEntry | undefined;
}

/** Path of each object in the files that the push changed, before it did. */
export function originsOf(touched: readonly Touched[]): ReadonlyMap<string, string> {
  const origins = new Map<string, string>();
  for (const { path, base } of touched) {
    for (const { key } of base?.documents ?? []) if (key) origins.set(keyString(key), path);
  }
  return origins;
}

/** True if a push left an object as it was, although it changed the file. */
export function isUntouched(
  before: Pick<DocumentEntry, 'key' | 'manifest'>,
  pushed: FileEntry | undefined,
): boolean {
  const after = pushed?.documents.find(
    ({ key }) => key !== undefined && before.key !== undefined && sameKey(key, before.key),
  );
  const [was, is] = [before.manifest, after?.manifest];
  return was !== undefined && is !== undefined && jsonEqual(was, is);
}

/** The file of a path before its change. */
export function beforeOf({ path, oldId: id }: PathChange): SeenPath {
  return { path, id, mode: '100644' };
}
