/**
 * Writes the short responses of one tick of the event loop together at its end. Each write wakes its
 * client. If the computation of the next response follows each write, clients on the same machine
 * sleep and wake once per response, which costs more than the response.
 */

/** Responses in the previous tick from which batching starts; a single client is answered at once. */
const BUSY = 4;
/** Responses per batch. */
const MOST = 32;

export class ResponseBatch {
  #waiting: (() => void)[] = [];
  #asked = 0;
  #isBusy = false;

  /** Writes an answer, now or at the end of this tick. It must not throw. */
  write(answer: () => void): void {
    if (this.#asked++ === 0) setImmediate(this.#endTurn);
    if (!this.#isBusy) {
      answer();
      return;
    }
    this.#waiting.push(answer);
    if (this.#waiting.length >= MOST) this.#writeAll();
  }

  readonly #endTurn = (): void => {
    this.#isBusy = this.#asked >= BUSY;
    this.#asked = 0;
    this.#writeAll();
  };

  #writeAll(): void {
    const answers = this.#waiting;
    if (answers.length === 0) return;
    this.#waiting = [];
    for (const answer of answers) answer();
  }
}
