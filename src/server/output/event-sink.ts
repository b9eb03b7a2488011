/** The open end of a watch: lines out, and whether the client keeps up. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';

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
    await Promise.race([once(this.#response, 'drain'), once(this.#response, 'close')]).catch(
      () => undefined,
    );
    this.#behind = false;
  }
}
