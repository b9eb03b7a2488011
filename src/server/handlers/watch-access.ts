/** Access control of a watch while it runs: its end, and the events that its reader may see. */
import type { JournalEvent, StoredObject } from '../../state/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { userNow } from '../filters/access.ts';
import type { ReadyObject } from '../output/representation.ts';
import { NamedReplay, type PastFilter, pastFilter, type ToldEvent } from '../past-filter.ts';
import type { ResourceRequest } from '../request.ts';
import { type Selection, seenEvent } from '../selection.ts';

/** Interval of the check of a watch without events. */
const ACCESS_INTERVAL_MS = 10_000;
/** Lifetime of a decision for readers of every name: events within it share one decision. */
const ACCESS_KEPT_MS = 1000;

export interface WatchWish {
  readonly selection: Selection;
  /** Returns an object in the form for this reader. */
  shown(stored: StoredObject): ReadyObject;
  /** Ends the watch when its key ends or its right is revoked. */
  end(): void;
}

export class WatchAccess {
  readonly #deps: ServerDependencies;
  readonly #request: ResourceRequest;
  readonly #wish: WatchWish;
  /** Newest version at the opening of the watch. */
  readonly #opened: number;
  /** Set for a reader of single names after the first event. */
  #replay: NamedReplay | undefined;
  readonly #timer: NodeJS.Timeout;
  /** Absent: the reader has the right on every name. */
  #filter: PastFilter | undefined;
  #asked = 0;
  #open = true;

  /** Checks the right again: the request may have waited since its authorization. */
  constructor(deps: ServerDependencies, request: ResourceRequest, wish: WatchWish) {
    this.#deps = deps;
    this.#request = request;
    this.#wish = wish;
    this.#opened = deps.store.resourceVersion;
    this.#check();
    this.#timer = setInterval(() => this.#check(), ACCESS_INTERVAL_MS);
  }

  get isOpen(): boolean {
    return this.#open;
  }

  /** Returns the event for the reader; undefined: hidden; `end`: the right is gone. */
  next(event: JournalEvent): ToldEvent | 'end' | undefined {
    const isDeletion = event.type === 'DELETED';
    if (!isDeletion && performance.now() - this.#asked >= ACCESS_KEPT_MS) this.#check();
    if (this.#filter !== undefined) return this.#replayed(event);
    const { selection, shown } = this.#wish;
    // A right that the object itself grants ends with it. The reader still gets its DELETED event.
    if (!isDeletion && !this.#open) return 'end';
    const seen = seenEvent(selection, event);
    return seen && { type: seen.type, ready: shown(seen.stored) };
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #replayed(event: JournalEvent): ToldEvent | 'end' | undefined {
    const { kind } = this.#request;
    this.#replay ??= new NamedReplay({ ...this.#wish, kind, opened: this.#opened });
    return this.#replay.next(event, () => this.#filterNow());
  }

  /** Decides anew for each event: the name may belong to another object. */
  #filterNow(): PastFilter | 'end' | undefined {
    this.#check();
    return this.#open ? this.#filter : 'end';
  }

  #check(): void {
    this.#asked = performance.now();
    const user = this.#open ? userNow(this.#deps, this.#request, this.#request.info) : undefined;
    this.#open = user !== undefined;
    if (user === undefined) this.#wish.end();
    else this.#filter = pastFilter(this.#deps, { ...this.#request, user });
  }
}
