/** The rights of a watch while it lasts, and what of its events they show. */
import type { JournalEvent, StoredObject } from '../../state/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { userNow } from '../filters/access.ts';
import type { ReadyObject } from '../output/representation.ts';
import { NamedReplay, type PastFilter, pastFilter, type ToldEvent } from '../past-filter.ts';
import type { ResourceRequest } from '../request.ts';
import { type Selection, seenEvent } from '../selection.ts';

/** Interval of the check of a watch without events. */
const ACCESS_INTERVAL_MS = 10_000;
/** Lifetime of a decision for readers of every name: events that come closer together share one. */
const ACCESS_KEPT_MS = 1000;

export interface WatchWish {
  readonly selection: Selection;
  /** An object in the form for this reader. */
  shown(stored: StoredObject): ReadyObject;
  /** Ends the watch of a key that does not work any more, or of a right that was taken away. */
  end(): void;
}

export class WatchAccess {
  readonly #deps: ServerDependencies;
  readonly #request: ResourceRequest;
  readonly #wish: WatchWish;
  /** The newest version when the watch was opened. */
  readonly #opened: number;
  /** For a reader of single names, from their first event on. */
  #replay: NamedReplay | undefined;
  readonly #timer: NodeJS.Timeout;
  /** Absent: the reader has the right on every name. */
  #filter: PastFilter | undefined;
  #asked = 0;
  #open = true;

  /** The right counts from here on: there may have been a wait since the request was admitted. */
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

  /** The event as the reader sees it; undefined: not at all; `end`: the right is gone. */
  next(event: JournalEvent): ToldEvent | 'end' | undefined {
    const isDeletion = event.type === 'DELETED';
    if (!isDeletion && performance.now() - this.#asked >= ACCESS_KEPT_MS) this.#check();
    if (this.#filter !== undefined) return this.#replayed(event);
    const { selection, shown } = this.#wish;
    // A right that follows from the object itself goes with it: its end is still told.
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

  /** A name may have another object at every event: no decision of before counts. */
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
