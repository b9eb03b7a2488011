/** Assertions that were taken, until nobody would take them any more. */

const MOST = 100_000;

export class Replays {
  /** Until when, in ms of Unix time; oldest first. */
  readonly #taken = new Map<string, number>();

  /** False: it was taken before. */
  take(id: string, until: number, now: number): boolean {
    for (const [known, end] of this.#taken) {
      if (end > now && this.#taken.size <= MOST) break;
      this.#taken.delete(known);
    }
    if ((this.#taken.get(id) ?? 0) > now) return false;
    this.#taken.delete(id);
    this.#taken.set(id, until);
    return true;
  }
}

/** Of the process: a changed configuration makes new connectors and forgets no assertion. */
export const replays = new Replays();
