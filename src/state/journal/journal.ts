/**
 * The journal: recent events, in memory, in order. Each event is in a log for its kind and in a log
 * for its namespace and kind. So a reader meets only events of its collection, a change wakes only
 * the readers that asked for it, and a quiet collection stays resumable beside busy ones. Readers
 * have a position instead of a queue: a slow reader costs nothing, and is dropped when the window
 * has moved past it.
 */

import type { Clock } from '../../apimachinery/index.ts';
import { Sequence } from '../../concurrency/index.ts';
import { collectionId } from '../objects/object-index.ts';
import type { Collection, JournalEvent } from '../store.ts';
import { EventLog } from './event-log.ts';

/**
 * Window of the journal. An event is dropped when it is both beyond the newest `keepEvents` and
 * older than `keepMs`, or when a memory limit is exceeded.
 */
export interface JournalWindow {
  readonly keepEvents: number;
  /**
   * Continue tokens and watches must hold for five minutes, as with the etcd compaction of
   * Kubernetes.
   */
  readonly keepMs: number;
  /** An event takes about 200 bytes beside its object. */
  readonly maxEvents: number;
  /** JSON bytes of the object versions in the events; memory is about three times that. */
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

/** Events to append, collected before the journal changes. */
export class JournalStep {
  readonly events: { readonly event: JournalEvent; readonly bytes: number }[] = [];
  readonly logs = new Map<
    string,
    { readonly collection: Collection; readonly own: JournalEvent[] }
  >();

  /** `bytes`: length of the object version as JSON. */
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

  /** `floor`: version before the first event. */
  constructor(floor: number, window: JournalWindow, clock: Clock) {
    this.#floor = floor;
    this.#window = window;
    this.#clock = clock;
  }

  /**
   * Appends events that happened `at` a time; `trim` drops those outside the window. Does not wake
   * readers: returns the logs whose readers have something to read.
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

  /** Drops every event, as of `floor`. Readers end; listeners stay. */
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

  /** True if there is no event and no reader. */
  get quiet(): boolean {
    return (
      this.#entries.first === this.#entries.end && [...this.#logs.values()].every((log) => log.idle)
    );
  }

  /** The log of a collection, created on demand. Call `release` after use. */
  log(collection: Collection): EventLog {
    const id = collectionId(collection);
    let log = this.#logs.get(id);
    if (log === undefined) {
      log = new EventLog(this.floor(collection));
      this.#logs.set(id, log);
    }
    return log;
  }

  /** The log of a collection, if it exists. */
  peek(collection: Collection): EventLog | undefined {
    return this.#logs.get(collectionId(collection));
  }

  /**
   * The oldest version from which a collection can be read on. A namespace without a log had no
   * event in the window; the floor of its kind bounds the time before.
   */
  floor({ group, kind, namespace }: Collection): number {
    const own = this.peek({ group, kind, namespace });
    if (own !== undefined) return own.floor;
    return namespace === undefined ? this.#floor : this.floor({ group, kind });
  }

  /** Called when a reader or listener has left. */
  release(collection: Collection): void {
    // The log of a kind stays, since it holds the floor.
    if (collection.namespace === undefined) return;
    if (this.peek(collection)?.idle === true) this.#logs.delete(collectionId(collection));
  }

  /** Calls every listener to the collections of an event. */
  notify(event: JournalEvent, onError: (error: unknown) => void): void {
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

  /** Yields after each dropped event; events may be appended meanwhile. */
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
