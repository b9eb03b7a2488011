/** Changes of objects from one version of a catalog to another. */
import { keyString } from '../apimachinery/index.ts';
import type { Catalog } from './catalog.ts';
import type { ObjectChange } from './step.ts';

/** Changes of several steps, combined by object: from the first `before` to the last `after`. */
export class NetChanges {
  readonly #changes = new Map<string, { -readonly [P in keyof ObjectChange]: ObjectChange[P] }>();

  add({ key, before, after }: ObjectChange): void {
    const id = keyString(key);
    const earlier = this.#changes.get(id);
    if (earlier === undefined) this.#changes.set(id, { key, before, after });
    else earlier.after = after;
  }

  net(): ObjectChange[] {
    return [...this.#changes.values()].filter(({ before, after }) => before !== after);
  }
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
