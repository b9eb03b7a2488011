/**
 * One-time codes that a browser takes to a program on the same computer, which gets its access key
 * for one (RFC 8252). Who sees a code cannot use it: the program proves by its verifier that it
 * began the sign-in (PKCE, RFC 7636). They live in memory: after a restart people begin again.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../apimachinery/clock.ts';

const LIFE_MS = 60_000;
/** Only people who signed in get codes; this bounds what one of them can make of the memory. */
const MOST_CODES = 10_000;

interface Issued<Grant> {
  readonly grant: Grant;
  readonly challenge: string;
  readonly endsAt: number;
}

/** `Grant`: what the code stands for, such as who agreed to what. */
export class CliCodes<Grant> {
  readonly #clock: Clock;
  readonly #codes = new Map<string, Issued<Grant>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined: there are too many codes that nobody fetched a key for. */
  issue(grant: Grant, challenge: string): string | undefined {
    const now = this.#clock.now();
    this.#forgetEnded(now);
    if (this.#codes.size >= MOST_CODES) return undefined;
    const code = randomBytes(32).toString('base64url');
    this.#codes.set(code, { grant, challenge, endsAt: now + LIFE_MS });
    return code;
  }

  /** Works once, and a wrong verifier uses the code up. */
  redeem(code: string, verifier: string): Grant | undefined {
    const issued = this.#codes.get(code);
    this.#codes.delete(code);
    if (issued === undefined || this.#clock.now() >= issued.endsAt) return undefined;
    return isProof(verifier, issued.challenge) ? issued.grant : undefined;
  }

  #forgetEnded(now: number): void {
    for (const [code, { endsAt }] of this.#codes) {
      if (endsAt > now) return;
      this.#codes.delete(code);
    }
  }
}

/** S256 of a verifier, 32 bytes in base64url. */
export function isChallenge(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text);
}

function isProof(verifier: string, challenge: string): boolean {
  if (!/^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) return false;
  const digest = createHash('sha256').update(verifier).digest();
  const expected = Buffer.from(challenge, 'base64url');
  return digest.length === expected.length && timingSafeEqual(digest, expected);
}
