/**
 * Attempts to sign in that are under way, in memory: ten minutes, once, in the browser that began
 * them. A restart forgets them, and people begin again.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { LoginTransaction } from './connector.ts';

/** What is kept of an attempt. */
export interface PendingLogin extends LoginTransaction {
  /** Id of the connector that it goes through. */
  readonly connector: string;
  readonly generation: number;
  /** Hash of what the cookie of the browser holds. */
  readonly browser: Buffer;
  /** Checked, and checked again when it is used. */
  readonly returnTo: string;
}

const LIFE_MS = 10 * 60_000;
/** Strangers can begin as many as they like; the oldest go first. */
const MOST = 10_000;

export class LoginTransactions {
  readonly #clock: { now(): number };
  /** In the order they began. */
  readonly #pending = new Map<string, PendingLogin>();

  constructor(clock: { now(): number }) {
    this.#clock = clock;
  }

  begin(
    of: Pick<PendingLogin, 'connector' | 'generation' | 'returnTo' | 'redirectUri'> & {
      /** What the cookie of the browser holds. */
      readonly browser: string;
    },
  ): PendingLogin {
    this.#forget();
    const pending: PendingLogin = {
      ...of,
      browser: browserHash(of.browser),
      state: random(),
      requestId: `_${randomBytes(20).toString('hex')}`,
      nonce: random(),
      codeVerifier: random(),
      startedAt: this.#clock.now(),
    };
    this.#pending.set(pending.state, pending);
    return pending;
  }

  /** Once: whoever has it has it alone. Undefined for one that is unknown, used or too old. */
  take(state: string): PendingLogin | undefined {
    const pending = this.#pending.get(state);
    this.#pending.delete(state);
    return pending !== undefined && this.#isLive(pending) ? pending : undefined;
  }

  #isLive({ startedAt }: PendingLogin): boolean {
    const age = this.#clock.now() - startedAt;
    return age >= 0 && age < LIFE_MS;
  }

  #forget(): void {
    for (const [state, pending] of this.#pending) {
      if (this.#pending.size < MOST && this.#isLive(pending)) return;
      this.#pending.delete(state);
    }
  }
}

export function isSameBrowser({ browser }: PendingLogin, cookie: string | undefined): boolean {
  return cookie !== undefined && timingSafeEqual(browserHash(cookie), browser);
}

function browserHash(cookie: string): Buffer {
  return createHash('sha256').update(`gitplane login\0${cookie}`).digest();
}

/** 256 bits in 43 characters, which suits a code verifier as well (RFC 7636, section 4.1). */
export function random(): string {
  return randomBytes(32).toString('base64url');
}
