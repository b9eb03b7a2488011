/**
 * The store: objects and journal in memory, where every read is answered, and an engine below that
 * is told each batch of changes. A change is visible at once and durable a little later; what must
 * wait for the disk asks `flush`.
 */
import { type Clock, systemClock } from '../apimachinery/clock.ts';
import { keyString, type ObjectKey } from '../apimachinery/key.ts';
import type { JsonObject, JsonValue } from '../apimachinery/object.ts';
import { runAtOnce, runInSlices } from '../apimachinery/pauses.ts';
import type { RecordCodec } from './codec.ts';
import { Draft, type DraftEvent } from './draft.ts';
import type { EngineWrite, StateEngine } from './engine.ts';
import type { EventLog } from './event-log.ts';
import { HeldObject } from './held-object.ts';
import { DEFAULT_WINDOW, Journal, type JournalWindow } from './journal.ts';
import { compareBytes } from './key-order.ts';
import { LogWatch } from './log-watch.ts';
import { ObjectIndex } from './object-index.ts';
import { Pack } from './pack.ts';
import { Packing } from './packing.ts';
import { isLoose, Packs } from './packs.ts';
import { objectRecordKey } from './record.ts';
import { metaWrite, noteWrite, objectWrite, readState, type SavedState } from './saved-state.ts';
import { type Replacement, replaced } from './sorted-objects.ts';
import { StateError } from './state-error.ts';
import type {
  Change,
  Collection,
  Filling,
  JournalEvent,
  ObjectList,
  Remark,
  Source,
  Store,
  StoredObject,
  Watch,
} from './store.ts';
import { Unmade } from './unmade.ts';
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
    await engine.loaded?.();
    const store = new JournaledStore(options, saved);
    // The mark of a clean close goes before anybody is served: from here on, a state without it
    // may lack changes that clients have seen.
    engine.write([...saved.mending, store.meta(false)]);
    await engine.flush();
    return store;
  } catch (error) {
    await engine.close().catch(() => undefined);
    throw error;
  }
}

/** A batch of changes, worked out and encoded. */
interface PreparedStep {
  /** The version that it begins with. */
  readonly next: number;
  readonly draft: Draft;
  readonly news: readonly (readonly [string, string | undefined])[];
  readonly writes: readonly EngineWrite[];
}

/** A stop must not take long; the next start can do without. */
const FINISH_WITHIN_MS = 4_000;
/** Changes that make packing worth while, however few objects there are. */
const PACK_AT = 1024;

class JournaledStore implements Store {
  readonly #engine: StateEngine;
  readonly #codec: RecordCodec;
  readonly #onError: (error: unknown) => void;
  readonly #index = new ObjectIndex();
  /** As JSON: small, and out of reach of a writer that goes on changing what it wrote. */
  readonly #notes: Map<string, string>;
  readonly #window: JournalWindow;
  readonly #clock: Clock;
  readonly #packs: Packs;
  readonly #packing: Packing;
  #journal: Journal;
  #first: FirstVersions;
  #head: number;
  #next: number;
  /** Events that listeners have yet to hear; not empty only while `apply` calls them. */
  #untold: JournalEvent[] = [];
  /** Notes that count only when the first contents are saved to the end. */
  #filling: readonly string[] | undefined;
  #awaitingFilled: (() => void)[] = [];
  /** Since objects were packed. */
  #changes = 0;
  #closing: Promise<void> | undefined;

  constructor(options: StoreOptions, { meta, objects, packs, notes }: SavedState) {
    this.#clock = options.clock ?? systemClock;
    this.#engine = options.engine;
    this.#codec = options.codec;
    this.#onError = options.onError;
    this.#index.load(objects);
    this.#notes = new Map(notes);
    this.#first = firstVersions(meta, this.#clock);
    this.#head = this.#first.head;
    this.#next = this.#first.next;
    this.#window = { ...DEFAULT_WINDOW, ...options.window };
    this.#journal = new Journal(this.#head, this.#window, this.#clock);
    this.#packs = new Packs(options.codec, packs);
    this.#packing = new Packing({
      packs: this.#packs,
      isDue: (stored) => isLoose(stored) && this.#index.get(stored.key) === stored,
      write: (writes) => this.#engine.write(writes),
      done: () => this.#packed(),
      onError: this.#onError,
    });
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

  get pristine(): boolean {
    return this.#index.size === 0 && this.#journal.quiet;
  }

  fill<S extends Source>(sources: readonly S[], filling: Filling<S>, notes: Notes): void {
    this.#assertOpen();
    if (!this.pristine) throw new StateError(`the state in ${this.#engine.place} is in use`);
    const home = new Unmade(filling as unknown as Filling, sources, this.#next);
    const objects = sources.map((source, at) => new HeldObject(source.key, home, at));
    this.#index.load(objects);
    this.#next += objects.length;
    this.#head = objects.length === 0 ? this.#head : this.#next - 1;
    this.#first = { head: this.#head, next: this.#next };
    this.#journal = new Journal(this.#head, this.#window, this.#clock);
    this.#filling = Object.keys(notes);
    const news = this.#news(notes);
    for (const [name, text] of news) this.#keepNote(name, text);
    const writes = news.map(([name, text]) => noteWrite(this.#codec, name, text));
    this.#engine.write([...writes, this.meta(false)]);
    this.#packing.start(objects);
  }

  filled(): Promise<void> {
    if (this.#filling === undefined) return Promise.resolve();
    return new Promise((resolve) => void this.#awaitingFilled.push(resolve));
  }

  apply(
    changes: readonly Change[],
    notes: Notes = {},
    remarks: Iterable<readonly [ObjectKey, Remark | undefined]> = [],
  ): (StoredObject | undefined)[] {
    this.#assertOpen();
    return this.#take(runAtOnce(this.#prepare(changes, notes, remarks)));
  }

  prepare(
    changes: readonly Change[],
    notes: Notes,
    remarks: Iterable<readonly [ObjectKey, Remark | undefined]>,
  ): () => void {
    this.#assertOpen();
    const step = runAtOnce(this.#prepare(changes, {}, remarks));
    return () => {
      this.#assertOpen();
      if (step.next !== this.#next) throw new StateError('What was prepared is out of date');
      // Others may have kept notes meanwhile: that takes no version.
      const news = this.#news(notes);
      const kept = news.map(([name, text]) => noteWrite(this.#codec, name, text));
      this.#take({ ...step, news, writes: [...step.writes, ...kept] });
    };
  }

  async applyInSlices(
    changes: readonly Change[],
    notes: Notes,
    remarks: readonly (readonly [ObjectKey, Remark | undefined])[],
  ): Promise<void> {
    this.#assertOpen();
    const step = await runInSlices(this.#prepare(changes, notes, remarks));
    // The versions it was given may be those of other changes by now.
    if (step.next === this.#next && this.#closing === undefined) this.#take(step);
    else this.apply(changes, notes, remarks);
  }

  /** Whatever can fail, such as encoding an object, fails here, where nothing is changed. */
  *#prepare(
    changes: readonly Change[],
    notes: Notes,
    remarks: Iterable<readonly [ObjectKey, Remark | undefined]>,
  ): Generator<void, PreparedStep> {
    const next = this.#next;
    const draft = new Draft((key) => this.#index.get(key), next, remarks);
    for (const change of changes) yield draft.add(change);
    draft.finish();
    const news = this.#news(notes);
    const writes: EngineWrite[] = [];
    for (const event of draft.events) yield void writes.push(this.#eventWrite(event));
    for (const { current } of draft.remarked) writes.push(objectWrite(this.#codec, current));
    for (const [name, text] of news) writes.push(noteWrite(this.#codec, name, text));
    return { next, draft, news, writes };
  }

  #take({ draft, news, writes }: PreparedStep): (StoredObject | undefined)[] {
    const { events, remarked, results } = draft;
    if (writes.length === 0) return results;
    const touched = this.#commit(draft, news, writes);
    for (const log of touched) log.wake();
    this.#tell(events);
    this.#packWhenDue(events.length + remarked.length);
    return results;
  }

  *remarks(): Iterable<readonly [StoredObject, JsonValue]> {
    for (const stored of this.#index.objects()) {
      const { home, at } = stored;
      const facts = home instanceof Pack ? home.facts(at) : (stored.remark()?.facts ?? null);
      if (facts !== null) yield [stored, facts];
    }
    for (const pack of this.#packs) pack.release();
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
    return metaWrite(this.#codec, { last, clean, objects, notes, filling: this.#filling });
  }

  async #close(): Promise<void> {
    this.#journal.close();
    if (this.#filling === undefined) this.#packing.stop();
    else this.#packing.finish(FINISH_WITHIN_MS);
    // What is not saved by now is made again by the next start.
    this.#engine.write([this.meta(this.#filling === undefined)]);
    await this.#engine.close();
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) {
      throw new StateError(`the state in ${this.#engine.place} is closed`);
    }
  }

  #news(notes: Notes): (readonly [string, string | undefined])[] {
    return Object.entries(notes)
      .map(([name, value]) => [name, value && JSON.stringify(value)] as const)
      .filter(([name, text]) => this.#notes.get(name) !== text);
  }

  #keepNote(name: string, text: string | undefined): void {
    if (text === undefined) this.#notes.delete(name);
    else this.#notes.set(name, text);
  }

  #eventWrite({ type, current }: DraftEvent): EngineWrite {
    if (type !== 'DELETED') return objectWrite(this.#codec, current);
    return { key: objectRecordKey(current.key), value: undefined };
  }

  #commit(
    { events, remarked }: Draft,
    notes: readonly (readonly [string, string | undefined])[],
    writes: readonly EngineWrite[],
  ): Set<EventLog> {
    const vacated: EngineWrite[] = [];
    for (const { type, current, previous } of events) {
      this.#index.replace(current.key, type === 'DELETED' ? undefined : current);
      if (previous !== undefined) vacated.push(...this.#packs.vacate(previous));
    }
    for (const { current, previous } of remarked) {
      this.#index.replace(current.key, current);
      vacated.push(...this.#packs.vacate(previous));
    }
    for (const [name, text] of notes) this.#keepNote(name, text);
    this.#head = events.at(-1)?.resourceVersion ?? this.#head;
    this.#next = Math.max(this.#next, this.#head + 1);
    this.#engine.write([...writes, ...vacated, this.meta(false)]);
    // A deletion brings no version into memory.
    const bytes = events.map(({ type, current }) =>
      type === 'DELETED' ? 0 : current.json().length,
    );
    return this.#journal.append(events, bytes);
  }

  /** Packs what has left its pack when that has become much; never while the store fills. */
  #packWhenDue(changes: number): void {
    this.#changes += changes;
    if (this.#packing.busy || this.#changes < Math.max(PACK_AT, this.#index.size / 8)) return;
    this.#changes = 0;
    this.#packing.start([...this.#index.objects()].filter(isLoose));
  }

  #packed(): void {
    if (this.#filling === undefined) return;
    this.#filling = undefined;
    this.#engine.write([this.meta(false)]);
    for (const resolve of this.#awaitingFilled.splice(0)) resolve();
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
