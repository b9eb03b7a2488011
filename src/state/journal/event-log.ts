/** The events of one collection, and its readers. */

import { Sequence } from '../../concurrency/index.ts';
import type { JournalEvent } from '../store.ts';

/** A reader with its own position, which sleeps at the end of the log. */
export interface Reader {
  /** A new event may be available. */
  wake(): void;
  /** No more events follow: the store closes. */
  end(): void;
}

export type Listener = (event: JournalEvent) => void;

export class EventLog {
  /** Every event after this version is in the log. */
  floor: number;
  events = new Sequence<JournalEvent>();
  readonly readers = new Set<Reader>();
  readonly listeners = new Set<Listener>();

  constructor(floor: number) {
    this.floor = floor;
  }

  /** True if a newly made log would be the same. */
  get idle(): boolean {
    return (
      this.events.first === this.events.end && this.readers.size === 0 && this.listeners.size === 0
    );
  }

  /** Position of the first event after a version. */
  after(version: number): number {
    let low = this.events.first;
    let high = this.events.end;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((this.events.at(middle)?.resourceVersion ?? 0) > version) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  wake(): void {
    for (const reader of this.readers) reader.wake();
  }

  /** Drops every event up to `floor`, the newest version. */
  restart(floor: number): void {
    this.floor = floor;
    this.events = new Sequence<JournalEvent>();
  }

  /** Drops the oldest event. Readers that have not read it are dropped. */
  forget(): void {
    const event = this.events.shift();
    if (event !== undefined) this.floor = event.resourceVersion;
  }
}
