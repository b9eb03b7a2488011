/** What the clients of a campaign did, and what they found to be wrong. */

export interface Acknowledged {
  readonly key: string;
  /** Of the commit; undefined for what is in no commit. */
  readonly commit: string | undefined;
  /** Absent for pushes. */
  readonly requestId?: string | undefined;
}

export class Journal {
  readonly acknowledged: Acknowledged[] = [];
  /** Every key that a client ever used. */
  readonly keys = new Set<string>();
  readonly violations: string[] = [];
  /** Answers of 5xx to writes, by code and text. */
  readonly refusals = new Map<string, number>();
  readonly counts = { creates: 0, patches: 0, updates: 0, deletes: 0, finalized: 0, pushes: 0 };
  /** Versions of objects that writes were answered with, as `kind/name@version`. */
  readonly answers = new Set<string>();
  /** Of any answer or event. */
  highestVersion = 0;
  /** Pushes in a row that found the branch elsewhere. Git is the slower one: others make room. */
  pushesLost = 0;
  #next = 0;
  #answers = 0;
  readonly #waiting = new Set<{ readonly at: number; readonly done: () => void }>();

  key(who: string): string {
    const key = `${who}-${this.#next++}`;
    this.keys.add(key);
    return key;
  }

  answered(): void {
    this.#answers += 1;
    for (const waiter of [...this.#waiting]) {
      if (this.#answers < waiter.at) continue;
      this.#waiting.delete(waiter);
      waiter.done();
    }
  }

  /** Resolves when so many more writes and pushes were acknowledged. */
  afterAnswers(count: number): Promise<void> {
    return new Promise((done) => this.#waiting.add({ at: this.#answers + count, done }));
  }

  violation(text: string): void {
    this.violations.push(text);
  }

  refused(text: string): void {
    this.refusals.set(text, (this.refusals.get(text) ?? 0) + 1);
  }

  sawVersion(version: string | undefined): void {
    this.highestVersion = Math.max(this.highestVersion, Number(version ?? 0));
  }
}
