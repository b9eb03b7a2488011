/**
 * Short answers of one turn of the event loop, written one after the other when all were worked out.
 * A write wakes whoever waits for it: where every answer is followed by the work for the next one,
 * clients on the same machine fall asleep in between, and waking them costs more than the answer.
 */

/** Answers of the turn before from which on it is worth while: who asks alone is answered at once. */
const BUSY = 4;
/** So many are not kept waiting for more. */
const MOST = 32;

export class ResponseBatch {
  #waiting: (() => void)[] = [];
  #asked = 0;
  #isBusy = false;

  /** Writes an answer, now or at the end of this turn. It must not throw. */
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
