/** Limits of requests at a time: in all, and of one user, so that no user takes the places of others. */
import { tooManyRequests } from '../../apimachinery/index.ts';

export class UserSlots {
  readonly #most: number;
  readonly #mostOfOne: number;
  readonly #taken = new Map<string, number>();
  #all = 0;

  constructor(most: number, mostOfOne: number) {
    this.#most = most;
    this.#mostOfOne = mostOfOne;
  }

  /** Throws 429 if no slot is free. `what`: subject of the message, as in "searches run". */
  async run<T>(user: string, what: string, work: () => Promise<T>): Promise<T> {
    const own = this.#taken.get(user) ?? 0;
    if (this.#all >= this.#most || own >= this.#mostOfOne) {
      throw tooManyRequests(`Too many ${what} now`, 1);
    }
    this.#all++;
    this.#taken.set(user, own + 1);
    try {
      return await work();
    } finally {
      this.#all--;
      const left = (this.#taken.get(user) ?? 1) - 1;
      if (left > 0) this.#taken.set(user, left);
      else this.#taken.delete(user);
    }
  }
}
