/**
 * Idempotency keys of writes that failed and may be in history all the same: before such a key counts
 * for new, history is read again, once for all who wait.
 */
import { SingleFlight } from '../../state/index.ts';

/** Of more than so many no list is kept: all are unsure then. */
const MOST_KEYS = 1_000;

export class UnresolvedIdempotencyKeys {
  /** Those that the read under way is for, and those that came since. */
  #asked = new Keys();
  #added = new Keys();
  readonly #looks: SingleFlight<void>;

  /** `read` rejects where history cannot be read. */
  constructor(read: () => Promise<void>) {
    this.#looks = new SingleFlight(() => this.#look(read));
  }

  has(user: string, idempotencyKey: string): boolean {
    const id = idOf(user, idempotencyKey);
    return this.#asked.has(id) || this.#added.has(id);
  }

  add(user: string, idempotencyKey: string): void {
    this.#added.add(idOf(user, idempotencyKey));
  }

  /** Resolves when it is known what became of those that were added before. */
  async settle(): Promise<void> {
    await this.#looks.look();
  }

  async #look(read: () => Promise<void>): Promise<void> {
    this.#asked.addAll(this.#added);
    this.#added = new Keys();
    await read();
    this.#asked = new Keys();
  }
}

class Keys {
  readonly #keys = new Set<string>();
  #isAny = false;

  has(id: string): boolean {
    return this.#isAny || this.#keys.has(id);
  }

  add(id: string): void {
    if (this.#isAny) return;
    this.#keys.add(id);
    if (this.#keys.size <= MOST_KEYS) return;
    this.#isAny = true;
    this.#keys.clear();
  }

  addAll(others: Keys): void {
    this.#isAny ||= others.#isAny;
    for (const id of others.#keys) this.add(id);
  }
}

function idOf(user: string, idempotencyKey: string): string {
  return `${user}\0${idempotencyKey}`;
}
