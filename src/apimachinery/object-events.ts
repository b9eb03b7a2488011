/**
 * Events of controllers. As in Kubernetes, equal events are counted as one, and an event expires
 * after an hour. Their number is bounded.
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
  /** Reporting component, such as `gitplane-garbage-collector`. */
  readonly component: string;
}

export interface CountedEvent extends ObjectEvent {
  /** Equal events have the same id. */
  readonly id: string;
  readonly first: number;
  readonly count: number;
}

export interface EventSink {
  record(event: ObjectEvent): void;
}

/** Called with the current event, and with its last state when it expires. */
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

  /** Drops expired events, and the oldest beyond the limit. */
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

  /** Returns a function that ends it. */
  follow(listener: EventListener): () => void {
    this.#listeners.add(listener);
    for (const event of this.#events.values()) listener(event, false);
    return () => this.#listeners.delete(listener);
  }

  #tell(event: CountedEvent, isForgotten: boolean): void {
    for (const listener of this.#listeners) listener(event, isForgotten);
  }
}
