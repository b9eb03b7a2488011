/** The open end of a watch: lines out, and whether the client keeps up. */
import type { ServerResponse } from 'node:http';

/** Each ends the wait for a client that does not read. */
const ENDS = ['drain', 'close', 'error'] as const;

export class EventSink {
  readonly #response: ServerResponse;
  #behind = false;

  constructor(response: ServerResponse) {
    this.#response = response;
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
    if (this.#response.write(line) || this.#response.destroyed) return;
    this.#behind = true;
    await this.#drained();
    this.#behind = false;
  }

  /** Leaves no listener behind: a slow client is waited for thousands of times on one response. */
  #drained(): Promise<void> {
    const response = this.#response;
    return new Promise((resolve) => {
      const done = (): void => {
        for (const event of ENDS) response.off(event, done);
        resolve();
      };
      for (const event of ENDS) response.on(event, done);
    });
  }
}
