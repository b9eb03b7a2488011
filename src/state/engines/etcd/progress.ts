/** How far batches have got, by their number, and who waits for them to be durable. */

interface Waiting {
  /** Number of the batch that is waited for. */
  readonly batch: number;
  resolve(): void;
  reject(error: Error): void;
}

export class Progress {
  #written = 0;
  #taken = 0;
  #durable = 0;
  #waiting: Waiting[] = [];

  /** One more was given to the engine. */
  wrote(): void {
    this.#written++;
  }

  /** So many more are being made durable. */
  took(count: number): void {
    this.#taken += count;
  }

  /** Batches that nobody takes care of yet. */
  get left(): number {
    return this.#written - this.#taken;
  }

  get isDurable(): boolean {
    return this.#durable === this.#written;
  }

  /** Resolves when all that is written by now is durable. */
  wait(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ batch: this.#written, resolve, reject });
    });
  }

  /** What was taken is durable. */
  settle(): void {
    this.#durable = this.#taken;
    const waiting = this.#waiting;
    this.#waiting = waiting.filter(({ batch }) => batch > this.#durable);
    for (const { batch, resolve } of waiting) if (batch <= this.#durable) resolve();
  }

  /** Whoever waits now waits in vain. */
  fail(error: Error): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}
