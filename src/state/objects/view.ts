/**
 * What readers of a store see: the objects that are there, what happened to them in the last while,
 * and who follows it. How it came to be is for others to say: changes made here, or followed from
 * afar.
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
import type { HeldObject } from './held-object.ts';
import { compareBytes } from './key-order.ts';
import { type IndexStep, ObjectIndex } from './object-index.ts';
import { type Replacement, replaced } from './sorted-objects.ts';

export interface ViewOptions {
  /** What a listener threw. Must not throw itself. */
  readonly onError: (error: unknown) => void;
  readonly clock: Clock;
  readonly window?: Partial<JournalWindow> | undefined;
}

/** What a view begins with. */
export interface Beginning {
  readonly objects: readonly HeldObject[];
  /** As JSON. */
  readonly notes: ReadonlyMap<string, string>;
  readonly head: number;
}

/** An event of an object that is held here. */
export interface HeldEvent extends JournalEvent {
  readonly current: HeldObject;
}

/** From what readers see to what they are to see. */
export interface ViewStep {
  readonly index: IndexStep;
  readonly journal: JournalStep;
  /** Undefined: it stays. */
  readonly head: number | undefined;
}

export class View {
  readonly window: JournalWindow;
  readonly #options: ViewOptions;
  readonly #journal: Journal;
  #index = new ObjectIndex();
  /** As JSON: small, and out of reach of a writer that goes on changing what it wrote. */
  #notes: Map<string, string>;
  #head: number;
  /** Versions that nobody can read on from. */
  #gaps: Gap[] = [];
  /** What was given out while another state came: it may be part of that, or may have been lost. */
  #unknown: Gap | undefined;
  /** Events that listeners have yet to hear, from `#told` on. */
  #untold: JournalEvent[] = [];
  #told = 0;
  #telling = false;

  constructor(options: ViewOptions, { objects, notes, head }: Beginning) {
    this.#options = options;
    this.window = { ...DEFAULT_WINDOW, ...options.window };
    this.#index.load(objects);
    this.#notes = new Map(notes);
    this.#head = head;
    this.#journal = new Journal(head, this.window, options.clock);
  }

  get head(): number {
    return this.#head;
  }

  get size(): number {
    return this.#index.size;
  }

  get noteCount(): number {
    return this.#notes.size;
  }

  /** There is no object and nobody has followed yet. */
  get pristine(): boolean {
    return this.#index.size === 0 && this.#journal.quiet;
  }

  objects(): IterableIterator<HeldObject> {
    return this.#index.objects();
  }

  get(key: ObjectKey): HeldObject | undefined {
    return this.#index.get(key);
  }

  list(collection: Collection): ObjectList {
    return { resourceVersion: this.#head, items: this.#index.list(collection) };
  }

  /** Throws CompactedError, and RangeError for a version that is ahead. */
  listAt(collection: Collection, resourceVersion: number): ObjectList {
    checkReadable(resourceVersion, this.#journal.floor(collection), this.#gaps);
    if (resourceVersion > this.#head) {
      throw new RangeError(`resourceVersion ${resourceVersion} is ahead of ${this.#head}`);
    }
    return { resourceVersion, items: this.#rewound(collection, resourceVersion) };
  }

  /** Throws CompactedError. */
  watch(collection: Collection, since: number): Watch {
    checkReadable(since, this.#journal.floor(collection), this.#gaps);
    const log = this.#journal.log(collection);
    return new LogWatch(log, since, () => this.#journal.release(collection));
  }

  observe(collection: Collection, listener: (event: JournalEvent) => void): () => void {
    // What is there already is no news to whoever begins to listen.
    if (!this.#telling) this.#tellUntil(() => false);
    const { listeners } = this.#journal.log(collection);
    // A function of its own, so that the same listener may be registered twice.
    const own = (event: JournalEvent): void => listener(event);
    listeners.add(own);
    return () => {
      listeners.delete(own);
      this.#journal.release(collection);
    };
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

  noteText(name: string): string | undefined {
    return this.#notes.get(name);
  }

  keepNote(name: string, text: string | undefined): void {
    if (text === undefined) this.#notes.delete(name);
    else this.#notes.set(name, text);
  }

  /**
   * Puts together what `show` does at once. Objects must stay as they are until then, and versions
   * where they are. `remarked`: holders of versions that stay.
   */
  *step(
    events: readonly HeldEvent[],
    remarked: readonly { readonly current: HeldObject }[] = [],
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
    for (const { current } of remarked) yield index.add(current.key, current);
    return { index, journal, head: events.at(-1)?.resourceVersion };
  }

  /** Readers see all of it from here on; returns what `announce` takes. */
  show({ index, journal, head }: ViewStep, at?: number): Set<EventLog> {
    this.#index.take(index);
    this.#head = head ?? this.#head;
    return this.#journal.take(journal, at);
  }

  /** The journal is to begin at an earlier version than what is here; to be called before anybody reads. */
  goBack(head: number): void {
    this.#head = head;
    this.#gaps = [];
    this.#journal.restart(head);
  }

  /** Only the journal lacked it. */
  recall(events: readonly HeldEvent[], at: number): void {
    const journal = new JournalStep();
    for (const event of events) {
      journal.add(event, bytesOf(event));
      this.#head = event.resourceVersion;
    }
    this.#journal.take(journal, at);
  }

  /** Versions after the head of which none will come; the next event has version `next`. */
  skip(next: number): void {
    if (next <= this.#head + 1) return;
    this.#gaps.push({ head: this.#head, next });
  }

  /** Whether a version was skipped: nothing that is here ever had it. Undefined: nobody knows. */
  isSkipped(version: number): boolean | undefined {
    const isIn = ({ head, next }: Gap): boolean => version > head && version < next;
    if (this.#gaps.some(isIn)) return true;
    return this.#unknown !== undefined && isIn(this.#unknown) ? undefined : false;
  }

  /**
   * Tells watches and listeners. A listener may change things: those events are told after the ones
   * that come before, so that every listener hears one order.
   */
  announce(touched: Set<EventLog>, events: readonly JournalEvent[]): void {
    runAtOnce(this.#journal.trim());
    for (const log of touched) log.wake();
    this.#tell(events);
  }

  /** First objects of a view that is pristine. */
  fill(objects: readonly HeldObject[], head: number): void {
    this.#index.load(objects);
    this.#restart(head);
  }

  /**
   * Another state takes the place of this one. Watches end, for what happened in between is not
   * known; listeners stay and are told the difference.
   */
  become({ objects, notes, head }: Beginning, difference: readonly JournalEvent[]): void {
    this.#index = new ObjectIndex();
    this.#index.load(objects);
    this.#notes = new Map(notes);
    this.#restart(head);
    this.#tell(difference);
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
   * The same, with pauses while listeners are told; whoever changes or observes something meanwhile
   * finds all of them told.
   */
  async announceInSlices(touched: Set<EventLog>, events: readonly JournalEvent[]): Promise<void> {
    for (const log of touched) log.wake();
    for (const event of events) this.#untold.push(event);
    const pauses = new Yielding();
    while (!this.#tellUntil(() => pauses.due)) await pauses.pause();
    await runYielding(this.#journal.trim());
  }

  #tell(events: readonly JournalEvent[]): void {
    for (const event of events) this.#untold.push(event);
    // Those who are being told hear it after what came before.
    if (!this.#telling) this.#tellUntil(() => false);
  }

  /** Whether all was told. */
  #tellUntil(isDue: () => boolean): boolean {
    this.#telling = true;
    try {
      while (this.#told < this.#untold.length) {
        if (isDue()) return false;
        const event = this.#untold[this.#told++] as JournalEvent;
        this.#journal.tell(event, this.#options.onError);
      }
      this.#untold = [];
      this.#told = 0;
      return true;
    } finally {
      this.#telling = false;
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

/** A deletion brings no version into memory. */
function bytesOf({ type, current }: HeldEvent): number {
  return type === 'DELETED' ? 0 : current.json().length;
}
