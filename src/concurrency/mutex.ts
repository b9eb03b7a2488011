/** Runs asynchronous jobs one at a time, in the order of the calls. A job that fails stops no later one. */
export class Mutex {
  #last: Promise<void> = Promise.resolve();

  /** Settles as the job does. */
  run<T>(job: () => T | PromiseLike<T>): Promise<T> {
    const result = this.#last.then(job);
    this.#last = result.then(ignore, ignore);
    return result;
  }

  /** Resolves when every job that was passed to `run` so far has ended. */
  idle(): Promise<void> {
    return this.#last;
  }
}

/** One mutex per key: jobs of different keys run at the same time. A key without jobs takes no memory. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Settles as the job does. */
  run<T>(key: string, job: () => T | PromiseLike<T>): Promise<T> {
    const result = (this.#last.get(key) ?? Promise.resolve()).then(job);
    const ended = result.then(ignore, ignore).then(() => {
      if (this.#last.get(key) === ended) this.#last.delete(key);
    });
    this.#last.set(key, ended);
    return result;
  }

  /** Resolves when every job that was passed to `run` so far has ended. */
  async idle(): Promise<void> {
    await Promise.all(this.#last.values());
  }
}

function ignore(): void {}
