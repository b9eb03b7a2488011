/**
 * A store as readers of the API see it: with the roles and bindings derived from owners and access
 * rules.
 */
import { LRUCache } from 'lru-cache';
import type { ObjectKey } from '../../apimachinery/index.ts';
import type { Kind, KindTable } from '../../kinds/index.ts';
import {
  type Collection,
  compareKeys,
  type JournalEvent,
  type ObjectList,
  type Store,
  type StoredObject,
  type Watch,
} from '../../state/index.ts';
import { isAccessRole, ownerKinds, shownEvents, shownOf, sourceOfRole } from './derived-roles.ts';

/** Several watches merged into one, in the order of the journal. */
interface WatchSource {
  readonly watch: Watch;
  /** Events for the reader; empty for most events of the source. */
  translate(event: JournalEvent): readonly JournalEvent[];
}

interface Slot {
  readonly source: WatchSource;
  readonly events: AsyncIterator<JournalEvent>;
  pending: Promise<void> | undefined;
  head: JournalEvent | undefined;
}

/** Methods of the store that reading needs. */
export type ReadStore = Pick<
  Store,
  'resourceVersion' | 'get' | 'list' | 'listAt' | 'watch' | 'observe'
>;

/** Cached lists, so that pages of one list are not built repeatedly. */
const MAX_LISTS = 4;

export class ReadableView implements ReadStore {
  readonly #store: ReadStore;
  readonly #kinds: KindTable;
  readonly #lists = new LRUCache<string, ObjectList>({ max: MAX_LISTS });

  constructor(store: ReadStore, kinds: KindTable) {
    this.#store = store;
    this.#kinds = kinds;
  }

  get resourceVersion(): number {
    return this.#store.resourceVersion;
  }

  get(key: ObjectKey): StoredObject | undefined {
    if (!isAccessRole(key)) return this.#store.get(key);
    const owner = sourceOfRole(this.#kinds, key);
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
    const cached = this.#lists.get(id);
    if (cached !== undefined) return cached;
    const shown = kinds.flatMap((kind) =>
      read(collectionOf(kind, collection)).items.flatMap((owner) => shownOf(kind, rbacKind, owner)),
    );
    const items = [...own.items, ...shown].sort((a, b) => compareKeys(a.key, b.key));
    const list = { resourceVersion: own.resourceVersion, items };
    this.#lists.set(id, list);
    return list;
  }
}

/**
 * The journal is a single sequence: all events before a received event were received too. So the
 * earliest received event is the next one. Waits take at most one tick of the microtask queue, so
 * that timers still see every event that happened before them.
 */
function mergeWatches(sources: readonly WatchSource[]): Watch {
  const close = (): void => {
    for (const { watch } of sources) watch.close();
  };
  return {
    events: () => merged(sources, close),
    get dropped(): boolean {
      return sources.some(({ watch }) => watch.dropped);
    },
    close,
    [Symbol.asyncDispose]: async () => close(),
  };
}

async function* merged(
  sources: readonly WatchSource[],
  close: () => void,
): AsyncGenerator<JournalEvent, undefined> {
  const ended = { yet: false };
  const slots = sources.map((source): Slot => {
    const events = source.watch.events();
    return { source, events, pending: undefined, head: undefined };
  });
  try {
    while (!ended.yet) {
      for (const slot of slots) ask(slot, ended);
      await Promise.resolve();
      const next = earliest(slots);
      if (next?.head === undefined) {
        await Promise.race(slots.map(({ pending }) => pending));
        continue;
      }
      const { head } = next;
      next.head = undefined;
      yield* next.source.translate(head);
    }
  } finally {
    close();
  }
  return undefined;
}

function ask(slot: Slot, ended: { yet: boolean }): void {
  if (slot.head !== undefined || slot.pending !== undefined) return;
  slot.pending = slot.events.next().then((result) => {
    slot.pending = undefined;
    if (result.done === true) ended.yet = true;
    else slot.head = result.value;
  });
}

function earliest(slots: readonly Slot[]): Slot | undefined {
  return slots
    .filter(({ head }) => head !== undefined)
    .reduce<Slot | undefined>((first, slot) => {
      const version = slot.head?.resourceVersion ?? 0;
      return first === undefined || version < (first.head?.resourceVersion ?? 0) ? slot : first;
    }, undefined);
}

function collectionOf({ group, kind }: Kind, { namespace }: Collection): Collection {
  return namespace === undefined ? { group, kind } : { group, kind, namespace };
}
