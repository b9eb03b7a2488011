/**
 * The state that readers see: objects, recent events, and watches. A view is changed by a local
 * store, or by one that follows records of another process.
 */
import {
  type Clock,
  type JsonObject,
  keyString,
  type ObjectKey,
  runAtOnce,
  runYielding,
  Yielding,
} from '../../apimachinery/index.ts';
import type { EventLog } from '../journal/event-log.ts';
import { DEFAULT_WINDOW, Journal, JournalStep, type JournalWindow } from '../journal/journal.ts';
import { LogWatch } from '../journal/log-watch.ts';
import { checkReadable, type Gap } from '../journal/versions.ts';
import type { Collection, JournalEvent, ObjectList, StoredObject, Watch } from '../store.ts';
import { compareBytes } from './key-order.ts';
import type { ObjectHandle } from './object-handle.ts';
import { type IndexStep, ObjectIndex } from './object-index.ts';
import { type Replacement, replaced } from './sorted-objects.ts';

export interface ViewOptions {
  /** Receives errors that listeners throw. Must not throw itself. */
  readonly onError: (error: unknown) => void;
  readonly clock: Clock;
  readonly window?: Partial<JournalWindow> | undefined;
}

/** First contents of a view. */
export interface ViewContents {
  readonly objects: readonly ObjectHandle[];
  /** JSON texts by name. */
  readonly documents: ReadonlyMap<string, string>;
  readonly head: number;
}

/** An event with a handle to its object. */
export interface HandleEvent extends JournalEvent {
  readonly current: ObjectHandle;
}

/** A change of the view, computed before it is shown. */
export interface ViewStep {
  readonly index: IndexStep;
  readonly journal: JournalStep;
  /** Undefined: unchanged. */
  readonly head: number | undefined;
}

export class View {
  readonly window: JournalWindow;
  readonly #options: ViewOptions;
  readonly #journal: Journal;
  #index = new ObjectIndex();
  /** JSON texts: small, and safe from a writer that changes its value later. */
  #documents: Map<string, string>;
  #head: number;
  /** Versions from which reading on is refused. */
  #gaps: Gap[] = [];
  /**
   * Versions between the old state and the one that replaced it: the new state may contain them, or
   * they were lost.
   */
  #unknown: Gap | undefined;
  /** Events to be delivered to listeners, from `#delivered` on. */
  #undelivered: JournalEvent[] = [];
  #delivered = 0;
  #isDelivering = false;

  constructor(options: ViewOptions, { objects, documents, head }: ViewContents) {
    this.#options = options;
    this.window = { ...DEFAULT_WINDOW, ...options.window };
    this.#index.load(objects);
    this.#documents = new Map(documents);
    this.#head = head;
    this.#journal = new Journal(head, this.window, options.clock);
  }

  get head(): number {
    return this.#head;
  }

  get size(): number {
    return this.#index.size;
  }

  get documentCount(): number {
    return this.#documents.size;
  }

  /** True while there is no object and no reader has followed the view. */
  get pristine(): boolean {
    return this.#index.size === 0 && this.#journal.quiet;
  }

  objects(): IterableIterator<ObjectHandle> {
    return this.#index.objects();
  }

  get(key: ObjectKey): ObjectHandle | undefined {
    return this.#index.get(key);
  }

  list(collection: Collection): ObjectList {
    return { resourceVersion: this.#head, items: this.#index.list(collection) };
  }

  /** Throws CompactedError, and RangeError for a version newer than the view. */
  listAt(collection: Collection, resourceVersion: number): ObjectList {
    checkReadable(resourceVersion, this.#journal.floor(collection), this.#gaps);
    if (resourceVersion > this.#head) {
      throw new RangeError(`resourceVersion ${resourceVersion} is ahead of ${this.#head}`);
    }
    return { resourceVersion, items: this.#listBefore(collection, resourceVersion) };
  }

  /** Throws CompactedError. */
  watch(collection: Collection, since: number): Watch {
    checkReadable(since, this.#journal.floor(collection), this.#gaps);
    const log = this.#journal.log(collection);
    return new LogWatch(log, since, () => this.#journal.release(collection));
  }

  observe(collection: Collection, listener: (event: JournalEvent) => void): () => void {
    // Earlier events are delivered before a new listener is added.
    if (!this.#isDelivering) this.#deliverUntil(() => false);
    const { listeners } = this.#journal.log(collection);
    // A function of its own, so that the same listener can be added twice.
    const own = (event: JournalEvent): void => listener(event);
    listeners.add(own);
    return () => {
      listeners.delete(own);
      this.#journal.release(collection);
    };
  }

  document(name: string): JsonObject | undefined {
    const text = this.#documents.get(name);
    return text === undefined ? undefined : JSON.parse(text);
  }

  *documents(prefix: string): IterableIterator<[string, JsonObject]> {
    const found = [...this.#documents].filter(([name]) => name.startsWith(prefix));
    found.sort(([a], [b]) => compareBytes(a, b));
    for (const [name, text] of found) yield [name, JSON.parse(text)];
  }

  documentText(name: string): string | undefined {
    return this.#documents.get(name);
  }

  setDocument(name: string, text: string | undefined): void {
    if (text === undefined) this.#documents.delete(name);
    else this.#documents.set(name, text);
  }

  /**
   * Computes the change that `show` applies. Objects and containers must not change in between.
   * `provenanceChanges`: handles that replace others of the same version.
   */
  *step(
    events: readonly HandleEvent[],
    provenanceChanges: readonly { readonly current: ObjectHandle }[] = [],
  ): Generator<void, ViewStep> {
    const index = this.#index.begin();
    const journal = new JournalStep();
    for (const event of events) {
      const { type, current } = event;
      const isGone = type === 'DELETED';
      index.add(current.key, isGone ? undefined : current);
      journal.add(event, bytesOf(event));
      yield;
    }
    for (const { current } of provenanceChanges) yield index.add(current.key, current);
    return { index, journal, head: events.at(-1)?.resourceVersion };
  }

  /** Publishes a step to readers. Returns the argument for `announce`. */
  show({ index, journal, head }: ViewStep, at?: number): Set<EventLog> {
    this.#index.apply(index);
    this.#head = head ?? this.#head;
    return this.#journal.take(journal, at);
  }

  /** Restarts the journal at an earlier version. Called before the first read. */
  restartAt(head: number): void {
    this.#head = head;
    this.#gaps = [];
    this.#journal.restart(head);
  }

  /** Adds events to the journal whose objects are already in the view. */
  restoreEvents(events: readonly HandleEvent[], at: number): void {
    const journal = new JournalStep();
    for (const event of events) {
      journal.add(event, bytesOf(event));
      this.#head = event.resourceVersion;
    }
    this.#journal.take(journal, at);
  }

  /** Declares that no version between the head and `next` will be assigned. */
  skip(next: number): void {
    if (next <= this.#head + 1) return;
    this.#gaps.push({ head: this.#head, next });
  }

  /** True if no object ever had this version; undefined if unknown. */
  isSkipped(version: number): boolean | undefined {
    const isIn = ({ head, next }: Gap): boolean => version > head && version < next;
    if (this.#gaps.some(isIn)) return true;
    return this.#unknown !== undefined && isIn(this.#unknown) ? undefined : false;
  }

  /**
   * Wakes watches and calls listeners. Events of changes that a listener makes are delivered after
   * the current ones, so that every listener sees one order.
   */
  announce(touched: Set<EventLog>, events: readonly JournalEvent[]): void {
    runAtOnce(this.#journal.trim());
    for (const log of touched) log.wake();
    this.#notify(events);
  }

  /** First objects of a pristine view. */
  fill(objects: readonly ObjectHandle[], head: number): void {
    this.#index.load(objects);
    this.#restart(head);
  }

  /**
   * Replaces the state. Watches end, since the events in between are not known; listeners stay and
   * get the difference.
   */
  replaceAll(
    { objects, documents, head }: ViewContents,
    difference: readonly JournalEvent[],
  ): void {
    this.#index = new ObjectIndex();
    this.#index.load(objects);
    this.#documents = new Map(documents);
    this.#restart(head);
    this.#notify(difference);
  }

  close(): void {
    this.#journal.close();
  }

  #restart(head: number): void {
    if (this.#head > 0 && head > this.#head + 1) this.#unknown = { head: this.#head, next: head };
    this.#head = head;
    this.#gaps = [];
    this.#journal.restart(head);
  }

  /**
   * As `announce`, yielding between listeners. A change or a new listener meanwhile first delivers
   * the rest.
   */
  async announceYielding(touched: Set<EventLog>, events: readonly JournalEvent[]): Promise<void> {
    for (const log of touched) log.wake();
    for (const event of events) this.#undelivered.push(event);
    const pauses = new Yielding();
    while (!this.#deliverUntil(() => pauses.due)) await pauses.pause();
    await runYielding(this.#journal.trim());
  }

  #notify(events: readonly JournalEvent[]): void {
    for (const event of events) this.#undelivered.push(event);
    // Otherwise the running delivery continues with these events.
    if (!this.#isDelivering) this.#deliverUntil(() => false);
  }

  /** True if everything was delivered. */
  #deliverUntil(isDue: () => boolean): boolean {
    this.#isDelivering = true;
    try {
      while (this.#delivered < this.#undelivered.length) {
        if (isDue()) return false;
        const event = this.#undelivered[this.#delivered++];
        if (event !== undefined) this.#journal.notify(event, this.#options.onError);
      }
      this.#undelivered = [];
      this.#delivered = 0;
      return true;
    } finally {
      this.#isDelivering = false;
    }
  }

  /** The current list with the events after a version undone, newest first. */
  #listBefore(collection: Collection, version: number): readonly StoredObject[] {
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

/** A deletion adds no version to memory. */
function bytesOf({ type, current }: HandleEvent): number {
  return type === 'DELETED' ? 0 : current.json().length;
}
