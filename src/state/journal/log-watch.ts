/** A watch: a position in the log of its collection, and the pending calls of `next`. */

import type { JournalEvent, Watch } from '../store.ts';
import type { EventLog, Reader } from './event-log.ts';

type Result = IteratorResult<JournalEvent, undefined>;

const DONE: Result = { value: undefined, done: true };

/** The watch is its own iterator, since thousands may be open. */
export class LogWatch implements Watch, Reader, AsyncIterableIterator<JournalEvent, undefined> {
  readonly #log: EventLog;
  readonly #onClose: () => void;
  /** The reader knows everything up to this version. */
  #since: number;
  /** Position of the first event that may be new to the reader. */
  #position: number;
  #takers: ((result: Result) => void)[] = [];
  #ended = false;
  #dropped = false;

  /** `onClose` is called once, after the watch has left the log. */
  constructor(log: EventLog, since: number, onClose: () => void) {
    this.#log = log;
    this.#since = since;
    this.#position = log.after(since);
    this.#onClose = onClose;
    log.readers.add(this);
  }

  get dropped(): boolean {
    return this.#dropped || this.#lost();
  }

  events(): AsyncIterableIterator<JournalEvent, undefined> {
    return this;
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<JournalEvent, undefined> {
    return this;
  }

  next(): Promise<Result> {
    const result = this.#take();
    if (result !== undefined) return Promise.resolve(result);
    return new Promise((resolve) => {
      this.#takers.push(resolve);
    });
  }

  async return(): Promise<Result> {
    this.close();
    return DONE;
  }

  wake(): void {
    while (this.#takers.length > 0) {
      const result = this.#take();
      if (result === undefined) return;
      this.#takers.shift()?.(result);
    }
  }

  /** Ends at once: unread events are not delivered. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#log.readers.delete(this);
    this.#onClose();
    for (const taker of this.#takers) taker(DONE);
    this.#takers = [];
  }

  close(): void {
    this.end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }

  /** The next available event, the end, or undefined when the reader has to wait. */
  #take(): Result | undefined {
    if (this.#lost()) {
      this.#dropped = true;
      this.end();
    }
    if (this.#ended) return DONE;
    const { events } = this.#log;
    this.#position = Math.max(this.#position, events.first);
    while (this.#position < events.end) {
      const event = events.at(this.#position++);
      // The reader knows events up to `since`, which may have been ahead of the store.
      if (event === undefined || event.resourceVersion <= this.#since) continue;
      this.#since = event.resourceVersion;
      return { value: event, done: false };
    }
    return undefined;
  }

  /** True if an event was dropped before this reader read it. */
  #lost(): boolean {
    return !this.#ended && this.#log.floor > this.#since;
  }
}
