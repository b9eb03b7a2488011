/**
 * Revoked endpoint tokens, listed until their regular end, so that the list stays short. Offline
 * verifiers fetch it.
 */
import type { Clock } from '../../apimachinery/index.ts';

/** Persistent revocations: by token id, with the time at which the token would have ended. */
export interface RevocationStore {
  load(): Iterable<readonly [id: string, expiresAt: number]>;
  /** Resolves when the change is on stable storage. */
  set(id: string, expiresAt: number): Promise<void>;
  remove(ids: readonly string[]): Promise<void>;
}

export interface Revocation {
  /** `jti` of the token. */
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** For verifiers with a slow clock. */
const SKEW_MS = 5 * 60_000;
/** Only ids of issued tokens, or those that an administrator names, can be added. */
const MOST_REVOCATIONS = 100_000;

export class RevocationsFullError extends Error {
  constructor() {
    super(
      'Too many endpoint tokens are revoked already; raise tokenGeneration of the user instead, which ends all of them',
    );
    this.name = 'RevocationsFullError';
  }
}

export class Revocations {
  readonly #store: RevocationStore;
  readonly #clock: Clock;
  readonly #revoked: Map<string, number>;

  constructor(store: RevocationStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#revoked = new Map(store.load());
  }

  has(id: string): boolean {
    return this.#revoked.has(id);
  }

  /** Revocations that are still needed, in the order of their end. */
  list(): Revocation[] {
    const now = this.#clock.now();
    return [...this.#revoked]
      .map(([id, expiresAt]) => ({ id, expiresAt }))
      .filter(({ expiresAt }) => expiresAt + SKEW_MS > now)
      .sort((a, b) => a.expiresAt - b.expiresAt || (a.id < b.id ? -1 : 1));
  }

  /** Takes effect at once; resolves when it is persisted. Throws RevocationsFullError. */
  async revoke({ id, expiresAt }: Revocation): Promise<void> {
    if (this.has(id)) return;
    await this.sweep();
    if (this.#revoked.size >= MOST_REVOCATIONS) throw new RevocationsFullError();
    this.#revoked.set(id, expiresAt);
    await this.#store.set(id, expiresAt);
  }

  /** Removes tokens that have ended. */
  async sweep(): Promise<void> {
    const now = this.#clock.now();
    const over = [...this.#revoked].filter(([, expiresAt]) => expiresAt + SKEW_MS <= now);
    if (over.length === 0) return;
    for (const [id] of over) this.#revoked.delete(id);
    await this.#store.remove(over.map(([id]) => id));
  }
}
