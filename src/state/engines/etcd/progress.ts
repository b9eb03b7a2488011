/** Progress of the batches, by number, and the callers that wait for durability. */

interface Waiting {
  /** Number of the batch. */
  readonly batch: number;
  resolve(): void;
  reject(error: Error): void;
}

export class Progress {
  #written = 0;
  #taken = 0;
  #durable = 0;
  #waiting: Waiting[] = [];

  /** Counts a batch that was given to the engine. */
  wrote(): void {
    this.#written++;
  }

  /** Counts batches that are being made durable. */
  took(count: number): void {
    this.#taken += count;
  }

  /** Batches in the queue. */
  get left(): number {
    return this.#written - this.#taken;
  }

  get isDurable(): boolean {
    return this.#durable === this.#written;
  }

  /** Resolves when all batches so far are durable. */
  wait(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ batch: this.#written, resolve, reject });
    });
  }

  /** Marks all taken batches as durable. */
  settle(): void {
    this.#durable = this.#taken;
    const waiting = this.#waiting;
    this.#waiting = waiting.filter(({ batch }) => batch > this.#durable);
    for (const { batch, resolve } of waiting) if (batch <= this.#durable) resolve();
  }

  /** Rejects all waiting callers. */
  fail(error: Error): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}
