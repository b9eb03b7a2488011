/**
 * A scope within a store: many clusters share one file, one journal and one flush. A scope sees
 * only its own objects. Versions are those of the whole store.
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

/** Operations of a scope. Those that concern the whole store are left out. */
export type ScopedStore = Pick<
  Store,
  'resourceVersion' | 'get' | 'list' | 'listAt' | 'apply' | 'watch' | 'observe' | 'flush'
>;

/** `scope` becomes a prefix of the API groups in the store, and must not contain `/`. */
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
