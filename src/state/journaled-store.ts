/**
 * The store: objects and journal in memory, where every read is answered, and an engine below that
 * is told each batch of changes. A change is visible at once and durable a little later; what must
 * wait for the disk asks `flush`.
 */
import { type Clock, systemClock } from '../apimachinery/clock.ts';
import { keyString, type ObjectKey } from '../apimachinery/key.ts';
import type { JsonObject } from '../apimachinery/object.ts';
import type { RecordCodec } from './codec.ts';
import { Draft } from './draft.ts';
import type { EngineWrite, StateEngine } from './engine.ts';
import type { EventLog } from './event-log.ts';
import { DEFAULT_WINDOW, Journal, type JournalWindow } from './journal.ts';
import { compareBytes } from './key-order.ts';
import { LogWatch } from './log-watch.ts';
import { ObjectIndex } from './object-index.ts';
import { eventWrite, metaWrite, noteWrite, readState, type SavedState } from './saved-state.ts';
import { type Replacement, replaced } from './sorted-objects.ts';
import { StateError } from './state-error.ts';
import type {
  Change,
  Collection,
  JournalEvent,
  ObjectList,
  Store,
  StoredObject,
  Watch,
} from './store.ts';
import { checkReadable, type FirstVersions, firstVersions } from './versions.ts';

type Notes = Readonly<Record<string, JsonObject | undefined>>;

export interface StoreOptions {
  /** Belongs to the store from here on: closing the store closes it. */
  readonly engine: StateEngine;
  readonly codec: RecordCodec;
  /** What a listener threw. Must not throw itself. */
  readonly onError: (error: unknown) => void;
  readonly clock?: Clock;
  readonly window?: Partial<JournalWindow>;
}

/** Reads what the engine holds. Throws StateError, and closes the engine, if that fails. */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { engine, codec } = options;
  try {
    const saved = await readState(engine, codec);
    const store = new JournaledStore(options, saved);
    // The mark of a clean close goes before anybody is served: from here on, a state without it
    // may lack changes that clients have seen.
    engine.write([...saved.reseal, store.meta(false)]);
    await engine.flush();
    return store;
  } catch (error) {
    await engine.close().catch(() => undefined);
    throw error;
  }
}

class JournaledStore implements Store {
  readonly #engine: StateEngine;
  readonly #codec: RecordCodec;
  readonly #onError: (error: unknown) => void;
  readonly #index = new ObjectIndex();
  /** As JSON: small, and out of reach of a writer that goes on changing what it wrote. */
  readonly #notes: Map<string, string>;
  readonly #journal: Journal;
  readonly #first: FirstVersions;
  #head: number;
  #next: number;
  /** Events that listeners have yet to hear; not empty only while `apply` calls them. */
  #untold: JournalEvent[] = [];
  #closing: Promise<void> | undefined;

  constructor(options: StoreOptions, { meta, objects, notes }: SavedState) {
    const clock = options.clock ?? systemClock;
    this.#engine = options.engine;
    this.#codec = options.codec;
    this.#onError = options.onError;
    for (const stored of objects) this.#index.replace(stored.key, stored);
    this.#notes = new Map(notes);
    this.#first = firstVersions(meta, clock);
    this.#head = this.#first.head;
    this.#next = this.#first.next;
    const window = { ...DEFAULT_WINDOW, ...options.window };
    this.#journal = new Journal(this.#head, window, clock);
  }

  get resourceVersion(): number {
    return this.#head;
  }

  get(key: ObjectKey): StoredObject | undefined {
    return this.#index.get(key);
  }

  list(collection: Collection): ObjectList {
    return { resourceVersion: this.#head, items: this.#index.list(collection) };
  }

  listAt(collection: Collection, resourceVersion: number): ObjectList {
    checkReadable(resourceVersion, this.#journal.floor(collection), this.#first);
    if (resourceVersion > this.#head) {
      throw new RangeError(`resourceVersion ${resourceVersion} is ahead of ${this.#head}`);
    }
    return { resourceVersion, items: this.#rewound(collection, resourceVersion) };
  }

  apply(changes: readonly Change[], notes: Notes = {}): (StoredObject | undefined)[] {
    this.#assertOpen();
    const draft = new Draft((key) => this.#index.get(key), this.#next);
    for (const change of changes) draft.add(change);
    const news = Object.entries(notes)
      .map(([name, value]) => [name, value && JSON.stringify(value)] as const)
      .filter(([name, text]) => this.#notes.get(name) !== text);
    if (draft.events.length === 0 && news.length === 0) return draft.results;
    // Whatever can fail, such as encoding an object, fails before the first line that changes
    // something.
    const writes = draft.events.map((event) => eventWrite(this.#codec, event));
    for (const [name, text] of news) writes.push(noteWrite(this.#codec, name, text));
    const touched = this.#commit(draft.events, news, writes);
    for (const log of touched) log.wake();
    this.#tell(draft.events);
    return draft.results;
  }

  note(name: string): JsonObject | undefined {
    const text = this.#notes.get(name);
    return text === undefined ? undefined : JSON.parse(text);
  }

  *notes(prefix: string): IterableIterator<[string, JsonObject]> {
    const found = [...this.#notes].filter(([name]) => name.startsWith(prefix));
    found.sort(([a], [b]) => compareBytes(a, b));
    for (const [name, text] of found) yield [name, JSON.parse(text)];
  }

  watch(collection: Collection, since: number): Watch {
    this.#assertOpen();
    checkReadable(since, this.#journal.floor(collection), this.#first);
    const log = this.#journal.log(collection);
    return new LogWatch(log, since, () => this.#journal.release(collection));
  }

  observe(collection: Collection, listener: (event: JournalEvent) => void): () => void {
    const { listeners } = this.#journal.log(collection);
    // A function of its own, so that the same listener may be registered twice.
    const own = (event: JournalEvent): void => listener(event);
    listeners.add(own);
    return () => {
      listeners.delete(own);
      this.#journal.release(collection);
    };
  }

  flush(): Promise<void> {
    return this.#engine.flush();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** The entry that says where the versions are. */
  meta(clean: boolean): EngineWrite {
    const objects = this.#index.size;
    const notes = this.#notes.size;
    const last = clean ? this.#head : this.#next - 1;
    return metaWrite(this.#codec, { last, clean, objects, notes });
  }

  async #close(): Promise<void> {
    this.#journal.close();
    this.#engine.write([this.meta(true)]);
    await this.#engine.close();
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) {
      throw new StateError(`the state in ${this.#engine.place} is closed`);
    }
  }

  #commit(
    events: readonly JournalEvent[],
    notes: readonly (readonly [string, string | undefined])[],
    writes: readonly EngineWrite[],
  ): Set<EventLog> {
    for (const { type, current } of events) {
      this.#index.replace(current.key, type === 'DELETED' ? undefined : current);
    }
    for (const [name, text] of notes) {
      if (text === undefined) this.#notes.delete(name);
      else this.#notes.set(name, text);
    }
    this.#head = events.at(-1)?.resourceVersion ?? this.#head;
    this.#next = Math.max(this.#next, this.#head + 1);
    this.#engine.write([...writes, this.meta(false)]);
    // The writes begin with one an event. A deletion brings no version into memory.
    const bytes = events.map((_, i) => writes[i]?.value?.length ?? 0);
    return this.#journal.append(events, bytes);
  }

  /**
   * Calls the listeners. One may apply changes: their events are told after those that come
   * before, so that every listener hears one order.
   */
  #tell(events: readonly JournalEvent[]): void {
    const busy = this.#untold.length > 0;
    for (const event of events) this.#untold.push(event);
    if (busy) return;
    try {
      for (const event of this.#untold) this.#journal.tell(event, this.#onError);
    } finally {
      this.#untold = [];
    }
  }

  /** Today's list with the events after a version undone, the newest first. */
  #rewound(collection: Collection, version: number): readonly StoredObject[] {
    const items = this.#index.list(collection);
    const log = this.#journal.peek(collection);
    if (log === undefined) return items;
    const undone = new Map<string, Replacement>();
    for (let i = log.events.end - 1; i >= log.events.first; i--) {
      const event = log.events.at(i);
      if (event === undefined || event.resourceVersion <= version) break;
      const { key } = event.current;
      const id = keyString(key);
      undone.set(id, { id, key, object: event.previous });
    }
    return undone.size === 0 ? items : replaced(items, [...undone.values()]);
  }
}
