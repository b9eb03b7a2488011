/**
 * A part of a store that looks like a store of its own: many clusters share one file, one journal
 * and one flush, and none sees the objects of another. Versions are those of the whole.
 */
import type { ObjectKey } from '../apimachinery/index.ts';
import type {
  Change,
  Collection,
  JournalEvent,
  ObjectList,
  Store,
  StoredObject,
  Watch,
} from './store.ts';

/** What a part offers: everything but what is about the store as a whole. */
export type ScopedStore = Pick<
  Store,
  'resourceVersion' | 'get' | 'list' | 'listAt' | 'apply' | 'watch' | 'observe' | 'flush'
>;

/** `part` becomes a prefix of the groups that the store sees, and must not hold `/`. */
export function scopedStore(store: Store, part: string): ScopedStore {
  const inPart = <T extends { readonly group: string }>(of: T): T => ({
    ...of,
    group: `${part}:${of.group}`,
  });
  const moved = (change: Change): Change => ({ ...change, key: inPart(change.key) });
  return {
    get resourceVersion(): number {
      return store.resourceVersion;
    },
    get: (key: ObjectKey): StoredObject | undefined => store.get(inPart(key)),
    list: (of: Collection): ObjectList => store.list(inPart(of)),
    listAt: (of: Collection, version: number): ObjectList => store.listAt(inPart(of), version),
    apply: (changes) => store.apply(changes.map(moved)),
    watch: (of: Collection, since: number): Watch => store.watch(inPart(of), since),
    observe: (of: Collection, listener: (event: JournalEvent) => void) =>
      store.observe(inPart(of), listener),
    flush: () => store.flush(),
  };
}
