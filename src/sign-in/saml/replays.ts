/** Accepted assertions until they expire, to detect replays. */

const MOST = 100_000;

export class Replays {
  /** Expiry in Unix time (ms); oldest first. */
  readonly #taken = new Map<string, number>();

  /** False: the assertion was accepted before. */
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

/** Shared by all connectors of the process, so that a changed configuration loses no assertion. */
export const replays = new Replays();
