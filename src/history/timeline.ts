/** Timeline: one object through all of history, at every relevant commit. */
import type { ObjectKey } from '../apimachinery/index.ts';
import type { CatalogObject } from '../catalog/index.ts';
import { type CommitIndex, type PathHistory, sameKey } from './commit-index.ts';
import { rulePaths } from './index-reader.ts';
import { foldPaths, type RestrictedContext } from './path-limited-history.ts';

/** The object after one commit, and before it. */
export interface Moment {
  readonly ordinal: number;
  readonly after: CatalogObject | undefined;
  /** In each parent. */
  readonly before: readonly (CatalogObject | undefined)[];
}

export interface Timeline {
  readonly index: CommitIndex;
  /** Files that ever named the object, and the ignore file. */
  readonly files: readonly PathHistory[];
  /** The newest commit that was read. */
  readonly last: number;
  /** Oldest first. At other commits the object equals that of the first parent. */
  readonly moments: ReadonlyMap<number, Moment>;
}

/** Folds the history of one object, up to a commit. Identities count from the commit `root`. */
export async function readTimeline(
  context: RestrictedContext,
  key: ObjectKey,
  range: { readonly last: number; readonly root: number },
): Promise<Timeline> {
  const { index } = context;
  const { last } = range;
  const files = filesThatMatter(context, key);
  if (index.pathsOf(key).length === 0) return { index, files, last, moments: new Map() };
  const changed = new Map<string, CatalogObject | undefined>();
  const { commits } = await foldPaths(context, { files, ...range }, ({ commit, changes }) => {
    const own = changes.find((change) => sameKey(change.key, key));
    if (own !== undefined) changed.set(commit.id, own.after);
  });
  const moments = new Map<number, Moment>();
  for (const { ordinal, parents } of commits) {
    const before = parents.map((parent) => moments.get(parent)?.after);
    const id = index.id(ordinal);
    const after = changed.has(id) ? changed.get(id) : before[0];
    moments.set(ordinal, { ordinal, after, before });
  }
  return { index, files, last, moments };
}

/** True if the object has not changed since its timeline was read. */
export function isCurrent(timeline: Timeline, context: RestrictedContext, key: ObjectKey): boolean {
  const { index, files, last } = timeline;
  if (index !== context.index || !index.isQuiet(files, last)) return false;
  return filesThatMatter(context, key).length === files.length;
}

function filesThatMatter({ index, under }: RestrictedContext, key: ObjectKey): PathHistory[] {
  return [...index.pathsOf(key), ...rulePaths(under).flatMap((path) => index.path(path) ?? [])];
}

/** The object at a commit. */
export function momentAt(
  { moments }: Timeline,
  ordinal: number,
  firstParent: (ordinal: number) => number,
): CatalogObject | undefined {
  for (let at = ordinal; at >= 0; at = firstParent(at)) {
    const moment = moments.get(at);
    if (moment !== undefined) return moment.after;
  }
  return undefined;
}
