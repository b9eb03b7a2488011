/** The part of the journal that one collection sees, and who follows it. */

import type { JournalEvent } from '../store.ts';
import { Sequence } from './sequence.ts';

/** Somebody who reads at a pace of their own and sleeps at the end of the log. */
export interface Reader {
  /** There may be something new to read. */
  wake(): void;
  /** There will not be: the store closes. */
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

  /** Nothing here that could not be had by making the log anew. */
  get idle(): boolean {
    return (
      this.events.first === this.events.end && this.readers.size === 0 && this.listeners.size === 0
    );
  }

  /** The position of the first event later than a version. */
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

  /** Forgets every event up to `floor`, the newest there was. */
  restart(floor: number): void {
    this.floor = floor;
    this.events = new Sequence<JournalEvent>();
  }

  /** Forgets the oldest event; readers that have not had it are lost. */
  forget(): void {
    const event = this.events.shift();
    if (event !== undefined) this.floor = event.resourceVersion;
  }
}
