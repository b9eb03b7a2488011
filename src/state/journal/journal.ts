/**
 * The journal: the events of the last while, in memory, in order. Each event is in one log for its
 * kind and one for its namespace within the kind, so that a reader meets only events of the
 * collection it follows, a change wakes only those who asked for it, and a collection where little
 * happens stays resumable however busy the others are. Readers keep a position, not a queue: a slow
 * one costs nothing and is dropped when the window has moved past it.
 */
import type { Clock } from '../../apimachinery/index.ts';
import { collectionId } from '../objects/object-index.ts';
import type { Collection, JournalEvent } from '../store.ts';
import { EventLog } from './event-log.ts';
import { Sequence } from './sequence.ts';

/**
 * How far back the journal reaches. An event is forgotten when it is both beyond the newest
 * `keepEvents` and older than `keepMs`, or as soon as one of the limits on memory is passed.
 */
export interface JournalWindow {
  readonly keepEvents: number;
  /** Continue tokens and watches must hold for five minutes, as with the compaction of etcd. */
  readonly keepMs: number;
  /** An event takes some 200 bytes beside its object. */
  readonly maxEvents: number;
  /** JSON bytes of the object versions that the events brought; in memory about thrice that. */
  readonly maxBytes: number;
}

export const DEFAULT_WINDOW: JournalWindow = {
  keepEvents: 10_000,
  keepMs: 5 * 60_000,
  maxEvents: 100_000,
  maxBytes: 128 * 1024 * 1024,
};

interface Entry {
  readonly event: JournalEvent;
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Events to be appended, put together beside the journal. */
export class JournalStep {
  readonly events: { readonly event: JournalEvent; readonly bytes: number }[] = [];
  readonly logs = new Map<
    string,
    { readonly collection: Collection; readonly own: JournalEvent[] }
  >();

  /** `bytes`: what the object version of the event is long. */
  add(event: JournalEvent, bytes: number): void {
    this.events.push({ event, bytes });
    for (const collection of collectionsOf(event)) {
      const id = collectionId(collection);
      const log = this.logs.get(id);
      if (log === undefined) this.logs.set(id, { collection, own: [event] });
      else log.own.push(event);
    }
  }
}

export class Journal {
  #floor: number;
  readonly #window: JournalWindow;
  readonly #clock: Clock;
  #entries = new Sequence<Entry>();
  readonly #logs = new Map<string, EventLog>();
  #bytes = 0;

  /** `floor`: the version that the first event follows. */
  constructor(floor: number, window: JournalWindow, clock: Clock) {
    this.#floor = floor;
    this.#window = window;
    this.#clock = clock;
  }

  /**
   * Appends what happened `at` some time; `trim` forgets what has left the window then. Wakes nobody:
   * returns the logs whose readers have something to read.
   */
  take({ events, logs }: JournalStep, at = this.#clock.now()): Set<EventLog> {
    for (const { event, bytes } of events) {
      this.#entries.push({ event, bytes, at });
      this.#bytes += bytes;
    }
    const touched = new Set<EventLog>();
    for (const { collection, own } of logs.values()) {
      const log = this.log(collection);
      for (const event of own) log.events.push(event);
      touched.add(log);
    }
    return touched;
  }

  /** Forgets everything, as of `floor`. Readers end; listeners stay. */
  restart(floor: number): void {
    this.close();
    this.#floor = floor;
    this.#entries = new Sequence<Entry>();
    this.#bytes = 0;
    for (const [id, log] of this.#logs) {
      if (log.listeners.size === 0) this.#logs.delete(id);
      else log.restart(floor);
    }
  }

  /** Nothing happened, and nobody follows. */
  get quiet(): boolean {
    return (
      this.#entries.first === this.#entries.end && [...this.#logs.values()].every((log) => log.idle)
    );
  }

  /** The log of a collection, made when there is none; give it back with `release`. */
  log(collection: Collection): EventLog {
    const id = collectionId(collection);
    let log = this.#logs.get(id);
    if (log === undefined) {
      log = new EventLog(this.floor(collection));
      this.#logs.set(id, log);
    }
    return log;
  }

  /** The log of a collection if it has one. */
  peek(collection: Collection): EventLog | undefined {
    return this.#logs.get(collectionId(collection));
  }

  /**
   * The oldest version of a collection that can be read on from. A namespace without a log has had
   * no event in the window; what it had before, its kind's floor bounds.
   */
  floor({ group, kind, namespace }: Collection): number {
    const own = this.peek({ group, kind, namespace });
    if (own !== undefined) return own.floor;
    return namespace === undefined ? this.#floor : this.floor({ group, kind });
  }

  /** To be called when a reader or listener has left. */
  release(collection: Collection): void {
    // The log of a kind stays: it remembers the floor.
    if (collection.namespace === undefined) return;
    if (this.peek(collection)?.idle === true) this.#logs.delete(collectionId(collection));
  }

  /** Calls everybody who listens to the collections of an event. */
  tell(event: JournalEvent, onError: (error: unknown) => void): void {
    for (const collection of collectionsOf(event)) {
      const listeners = this.peek(collection)?.listeners;
      if (listeners === undefined || listeners.size === 0) continue;
      for (const listener of [...listeners]) {
        try {
          listener(event);
        } catch (error) {
          onError(error);
        }
      }
    }
  }

  close(): void {
    for (const log of [...this.#logs.values()]) for (const reader of log.readers) reader.end();
  }

  /** Yields after each event that it forgets; others may be appended then. */
  *trim(): Generator<void, void> {
    const now = this.#clock.now();
    const { keepEvents, keepMs, maxEvents, maxBytes } = this.#window;
    for (;;) {
      const oldest = this.#entries.at(this.#entries.first);
      if (oldest === undefined) return;
      const count = this.#entries.end - this.#entries.first;
      const stale = count > keepEvents && now - oldest.at > keepMs;
      if (!stale && count <= maxEvents && this.#bytes <= maxBytes) return;
      this.#entries.shift();
      this.#bytes -= oldest.bytes;
      this.#forget(oldest.event);
      yield;
    }
  }

  #forget(event: JournalEvent): void {
    for (const collection of collectionsOf(event)) {
      this.peek(collection)?.forget();
      this.release(collection);
    }
  }
}

function collectionsOf(event: JournalEvent): [kind: Collection, namespace: Collection] {
  const { group, kind, namespace } = event.current.key;
  return [
    { group, kind },
    { group, kind, namespace },
  ];
}
