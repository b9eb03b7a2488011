/**
 * Shares one run of a function among concurrent callers. A caller never gets the result of a run
 * that began before its call: callers during a run share the next one.
 */
export class SingleFlight<T> {
  readonly #work: () => Promise<T>;
  #running: Promise<unknown> | undefined;
  #next: Promise<T> | undefined;

  constructor(run: () => Promise<T>) {
    this.#work = run;
  }

  look(): Promise<T> {
    if (this.#running === undefined) return this.#begin();
    this.#next ??= this.#running.then(() => this.#begin());
    return this.#next;
  }

  #begin(): Promise<T> {
    this.#next = undefined;
    const result = this.#work();
    const running = result
      .catch(() => undefined)
      .then(() => {
        if (this.#running === running) this.#running = undefined;
      });
    this.#running = running;
    return result;
  }
}
