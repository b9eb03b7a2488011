/**
 * The store as readers of the API see it: with the roles and bindings that follow from owners and
 * access rules. Everything else, and every change, goes to the store below.
 */
import type { ObjectKey } from '../apimachinery/key.ts';
import type { JsonObject } from '../apimachinery/object.ts';
import type { Kind } from '../kinds/kind.ts';
import type { KindTable } from '../kinds/table.ts';
import { compareKeys } from '../state/key-order.ts';
import type {
  Collection,
  JournalEvent,
  ObjectList,
  Store,
  StoredObject,
  Watch,
} from '../state/store.ts';
import { isAccessRole, ownerKey, ownerKinds, shownEvents, shownOf } from './access-roles.ts';
import { mergeWatches } from './merged-watch.ts';

/** Lists that were put together, so that the pages of one are not made again and again. */
const KEPT_LISTS = 4;

export class ReadableStore implements Store {
  readonly #store: Store;
  readonly #kinds: KindTable;
  readonly #lists = new Map<string, ObjectList>();

  constructor(store: Store, kinds: KindTable) {
    this.#store = store;
    this.#kinds = kinds;
  }

  get resourceVersion(): number {
    return this.#store.resourceVersion;
  }

  get(key: ObjectKey): StoredObject | undefined {
    if (!isAccessRole(key)) return this.#store.get(key);
    const owner = ownerKey(this.#kinds, key);
    const found = owner && this.#store.get(owner);
    if (found === undefined) return undefined;
    const kind = this.#kinds.byKind(found.object.apiVersion, found.object.kind);
    if (kind === undefined) return undefined;
    return shownOf(kind, key.kind, found).find((shown) => shown.key.name === key.name);
  }

  list(collection: Collection): ObjectList {
    return this.#combined(collection, 'now', (of) => this.#store.list(of));
  }

  listAt(collection: Collection, resourceVersion: number): ObjectList {
    return this.#combined(collection, 'then', (of) => this.#store.listAt(of, resourceVersion));
  }

  watch(collection: Collection, since: number): Watch {
    const own = this.#store.watch(collection, since);
    const kinds = ownerKinds(this.#kinds, collection);
    if (kinds.length === 0) return own;
    const sources = [{ watch: own, translate: (event: JournalEvent) => [event] }];
    try {
      for (const kind of kinds) {
        const watch = this.#store.watch(collectionOf(kind, collection), since);
        const translate = (event: JournalEvent): JournalEvent[] =>
          shownEvents(kind, collection.kind, event);
        sources.push({ watch, translate });
      }
    } catch (error) {
      for (const { watch } of sources) watch.close();
      throw error;
    }
    return mergeWatches(sources);
  }

  observe(collection: Collection, listener: (event: JournalEvent) => void): () => void {
    const kinds = ownerKinds(this.#kinds, collection);
    const stops = [
      this.#store.observe(collection, listener),
      ...kinds.map((kind) =>
        this.#store.observe(collectionOf(kind, collection), (event) => {
          for (const shown of shownEvents(kind, collection.kind, event)) listener(shown);
        }),
      ),
    ];
    return () => {
      for (const stop of stops) stop();
    };
  }

  get pristine(): boolean {
    return this.#store.pristine;
  }

  fill: Store['fill'] = (sources, filling, notes) => this.#store.fill(sources, filling, notes);

  apply: Store['apply'] = (...step) => this.#store.apply(...step);

  prepare: Store['prepare'] = (...step) => this.#store.prepare(...step);

  applyInSlices: Store['applyInSlices'] = (...step) => this.#store.applyInSlices(...step);

  filled(): Promise<void> {
    return this.#store.filled();
  }

  remarks(): ReturnType<Store['remarks']> {
    return this.#store.remarks();
  }

  note(name: string): JsonObject | undefined {
    return this.#store.note(name);
  }

  notes(prefix: string): IterableIterator<[string, JsonObject]> {
    return this.#store.notes(prefix);
  }

  flush(): Promise<void> {
    return this.#store.flush();
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  #combined(
    collection: Collection,
    when: string,
    read: (collection: Collection) => ObjectList,
  ): ObjectList {
    const own = read(collection);
    const kinds = ownerKinds(this.#kinds, collection);
    if (kinds.length === 0) return own;
    const { kind: rbacKind, namespace = '' } = collection;
    const id = [when, rbacKind, namespace, own.resourceVersion].join('\0');
    const kept = this.#lists.get(id);
    if (kept !== undefined) return kept;
    const shown = kinds.flatMap((kind) =>
      read(collectionOf(kind, collection)).items.flatMap((owner) => shownOf(kind, rbacKind, owner)),
    );
    const items = [...own.items, ...shown].sort((a, b) => compareKeys(a.key, b.key));
    const list = { resourceVersion: own.resourceVersion, items };
    this.#keep(id, list);
    return list;
  }

  #keep(id: string, list: ObjectList): void {
    this.#lists.set(id, list);
    const [oldest] = this.#lists.keys();
    if (this.#lists.size > KEPT_LISTS && oldest !== undefined) this.#lists.delete(oldest);
  }
}

function collectionOf({ group, kind }: Kind, { namespace }: Collection): Collection {
  return namespace === undefined ? { group, kind } : { group, kind, namespace };
}
