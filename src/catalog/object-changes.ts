/** Changes of objects from one version of a catalog to another. */
import { keyString } from '../apimachinery/index.ts';
import type { Catalog } from './catalog.ts';
import type { ObjectChange } from './step.ts';

/** Combines changes of one object: from the first `before` to the last `after`. */
export function netChanges(changes: readonly ObjectChange[]): ObjectChange[] {
  const net = new Map<string, ObjectChange>();
  for (const change of changes) {
    const id = keyString(change.key);
    const earlier = net.get(id);
    net.set(id, earlier === undefined ? change : { ...change, before: earlier.before });
  }
  return [...net.values()].filter((change) => change.before !== change.after);
}

/** Changes that turn one catalog into another, by object. */
export function catalogDifference(from: Catalog, to: Catalog): ObjectChange[] {
  const changes: ObjectChange[] = [];
  for (const before of from.objects()) {
    const after = to.object(before.key);
    if (after !== before) changes.push({ key: before.key, before, after });
  }
  for (const after of to.objects()) {
    if (from.object(after.key) === undefined)
      changes.push({ key: after.key, before: undefined, after });
  }
  return changes;
}
