/** The open end of a watch: lines out, and whether the client keeps up. */
import type { Writable } from 'node:stream';

/** Each ends the wait for a client that does not read. */
const ENDS = ['drain', 'close', 'error'] as const;

export class EventSink {
  readonly #out: Writable;
  readonly #isText: boolean;
  #behind = false;

  /** `isText`: the lines are written as strings, which a WebSocket tells from bytes. */
  constructor(out: Writable, isText = false) {
    this.#out = out;
    this.#isText = isText;
  }

  /**
   * True while lines wait for the client. A bookmark must not be sent then: it would promise
   * events that have not been written.
   */
  get behind(): boolean {
    return this.#behind;
  }

  /** Resolves when the next line may be written. Never rejects: a client that left just ends. */
  async write(line: Buffer): Promise<void> {
    const isTaken = this.#out.write(this.#isText ? line.toString('utf8') : line);
    if (isTaken || this.#out.destroyed) return;
    this.#behind = true;
    await this.#drained();
    this.#behind = false;
  }

  /** Leaves no listener behind: a slow client is waited for thousands of times on one stream. */
  #drained(): Promise<void> {
    const out = this.#out;
    return new Promise((resolve) => {
      const done = (): void => {
        for (const event of ENDS) out.off(event, done);
        resolve();
      };
      for (const event of ENDS) out.on(event, done);
    });
  }
}
