/**
 * What controllers did, as Kubernetes counts it: the same thing again is one event. Bounded, and
 * forgotten after an hour, as events of Kubernetes are.
 */
import type { ObjectKey } from './key.ts';

export interface ObjectEvent {
  readonly key: ObjectKey;
  readonly uid: string;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  /** Milliseconds since the epoch. */
  readonly time: number;
  /** Who noticed: `gitplane-garbage-collector`. */
  readonly component: string;
}

export interface CountedEvent extends ObjectEvent {
  /** The same for the same thing. */
  readonly id: string;
  readonly first: number;
  readonly count: number;
}

/** What whoever has something to tell needs. */
export interface EventSink {
  record(event: ObjectEvent): void;
}

/** Of an event as it is now, or as it was when it is forgotten. */
export type EventListener = (event: CountedEvent, isForgotten: boolean) => void;

const MOST_EVENTS = 1000;
const FORGOTTEN_AFTER_MS = 60 * 60_000;

export class EventRing implements EventSink {
  /** Oldest first. */
  readonly #events = new Map<string, CountedEvent>();
  readonly #listeners = new Set<EventListener>();

  record(event: ObjectEvent): void {
    const { uid, type, reason, message, time } = event;
    const id = JSON.stringify([uid, type, reason, message]);
    const before = this.#events.get(id);
    const counted = {
      ...event,
      id,
      first: before?.first ?? time,
      count: (before?.count ?? 0) + 1,
    };
    this.#events.delete(id);
    this.#events.set(id, counted);
    this.#tell(counted, false);
    this.forget(time);
  }

  /** Drops what is too old, or too much. */
  forget(now: number): void {
    for (const event of this.#events.values()) {
      if (this.#events.size <= MOST_EVENTS && now - event.time < FORGOTTEN_AFTER_MS) return;
      this.#events.delete(event.id);
      this.#tell(event, true);
    }
  }

  /** Oldest first. */
  list(): CountedEvent[] {
    return [...this.#events.values()];
  }

  /** Returns the way to stop. */
  follow(listener: EventListener): () => void {
    this.#listeners.add(listener);
    for (const event of this.#events.values()) listener(event, false);
    return () => this.#listeners.delete(listener);
  }

  #tell(event: CountedEvent, isForgotten: boolean): void {
    for (const listener of this.#listeners) listener(event, isForgotten);
  }
}
