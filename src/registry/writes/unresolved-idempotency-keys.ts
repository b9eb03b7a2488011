/**
 * Idempotency keys of writes that failed and may still be in history. Before such a key counts as
 * new, history is read again, once for all waiting requests.
 */

import { SingleFlight } from '../../concurrency/index.ts';

/** Above this limit all keys count as unresolved. */
const MAX_KEYS = 1_000;

export class UnresolvedIdempotencyKeys {
  /** Keys that the present read covers, and keys added since. */
  #asked = new Keys();
  #added = new Keys();
  readonly #reads: SingleFlight<void>;

  /** `read` rejects if history cannot be read. */
  constructor(read: () => Promise<void>) {
    this.#reads = new SingleFlight(() => this.#read(read));
  }

  has(user: string, idempotencyKey: string): boolean {
    const id = idOf(user, idempotencyKey);
    return this.#asked.has(id) || this.#added.has(id);
  }

  add(user: string, idempotencyKey: string): void {
    this.#added.add(idOf(user, idempotencyKey));
  }

  /** Resolves when the outcome of every key added before is known. */
  async settle(): Promise<void> {
    await this.#reads.look();
  }

  async #read(read: () => Promise<void>): Promise<void> {
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
    if (this.#keys.size <= MAX_KEYS) return;
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
