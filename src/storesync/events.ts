/** The newest events of the sync, as Kubernetes counts them: the same thing again is one event. */
import type { ObjectKey } from '../apimachinery/key.ts';

export interface SyncEvent {
  readonly key: ObjectKey;
  readonly uid: string;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  /** Milliseconds since the epoch. */
  readonly time: number;
}

export interface CountedEvent extends SyncEvent {
  readonly first: number;
  readonly count: number;
}

const MOST_EVENTS = 1000;

export class EventRing {
  readonly #events = new Map<string, CountedEvent>();

  record(event: SyncEvent): void {
    const { uid, type, reason, message, time } = event;
    const id = JSON.stringify([uid, type, reason, message]);
    const before = this.#events.get(id);
    this.#events.delete(id);
    this.#events.set(id, {
      ...event,
      first: before?.first ?? time,
      count: (before?.count ?? 0) + 1,
    });
    const [oldest] = this.#events.keys();
    if (this.#events.size > MOST_EVENTS && oldest !== undefined) this.#events.delete(oldest);
  }

  /** Oldest first. */
  list(): CountedEvent[] {
    return [...this.#events.values()];
  }
}
