/** Two moments of the whole platform: the objects that differ. */
import { badRequest, keyString, type ObjectKey, Yielding } from '../apimachinery/index.ts';
import type { ObjectChange } from '../catalog/index.ts';
import type { KindTable } from '../kinds/index.ts';
import { foldPaths, type RestrictedContext } from './path-limited-history.ts';
import { changesOf, type PlanChange } from './plan.ts';
import { filesOf, touchedSince } from './touched-files.ts';

export interface Comparison {
  readonly from: ComparedCommit;
  readonly to: ComparedCommit;
  /** From the first to the second, whichever is older. */
  readonly changes: readonly PlanChange[];
}

export interface ComparedCommit {
  readonly revision: string;
  /** Committer time, in seconds since the epoch. */
  readonly time: number;
}

/** Objects whose files are read at both commits. */
const MOST_COMPARED = 20_000;

/** The cost follows the number of objects in files that changed between the commits. */
export async function changesBetween(
  context: RestrictedContext,
  from: number,
  to: number,
): Promise<readonly ObjectChange[]> {
  if (from === to) return [];
  const { index } = context;
  const touched = touchedSince(context, Math.max(from, to), Math.min(from, to));
  const keys = new Map<string, ObjectKey>();
  for (const { keys: named } of touched ?? index.paths()) {
    for (const key of named) keys.set(keyString(key), key);
  }
  if (keys.size > MOST_COMPARED) {
    throw badRequest(
      `${keys.size} objects may differ between these commits, and at most ${MOST_COMPARED} are compared: choose commits that are closer to each other`,
    );
  }
  const files = filesOf(context, keys);
  const at = async (last: number) =>
    (await foldPaths(context, { files, last, root: index.root(last) })).catalog;
  const [before, after] = [await at(from), await at(to)];
  return [...keys.keys()].sort().flatMap((id): ObjectChange[] => {
    const key = keys.get(id);
    return key === undefined ? [] : [{ key, before: before.object(key), after: after.object(key) }];
  });
}

const AT_ONCE = 64;

/** In the words of a plan. Yields to other work in between. */
export async function describeChanges(
  kinds: KindTable,
  changes: readonly ObjectChange[],
): Promise<readonly PlanChange[]> {
  const pauses = new Yielding();
  const found: PlanChange[] = [];
  for (let at = 0; at < changes.length; at += AT_ONCE) {
    await pauses.take();
    found.push(...changesOf(kinds, { changes: changes.slice(at, at + AT_ONCE), derived: [] }));
  }
  return found;
}
