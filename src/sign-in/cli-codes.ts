/**
 * One-time codes that a browser takes to a program on the same computer, which exchanges a code for an
 * access key (RFC 8252). A stolen code is useless: the program proves with its verifier that it began the
 * sign-in (PKCE, RFC 7636). Codes are in memory, so that a sign-in starts again after a restart.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../apimachinery/index.ts';

const LIFE_MS = 60_000;
const MOST_CODES = 10_000;
/** Limit per user; the oldest code of the user is evicted, so that nobody can exhaust the codes of others. */
const MOST_OF_ONE_USER = 20;

interface Issued<Grant> {
  readonly user: string;
  readonly grant: Grant;
  readonly challenge: string;
  readonly endsAt: number;
}

/** `Grant`: the data behind a code, such as the approving user. */
export class CliCodes<Grant> {
  readonly #clock: Clock;
  readonly #codes = new Map<string, Issued<Grant>>();
  /** Codes per user, oldest first. */
  readonly #byUser = new Map<string, Set<string>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined: too many codes have not been exchanged yet. */
  issue(
    grant: Grant,
    of: { readonly user: string; readonly challenge: string },
  ): string | undefined {
    const now = this.#clock.now();
    this.#forgetEnded(now);
    this.#makeRoomOf(of.user);
    if (this.#codes.size >= MOST_CODES) return undefined;
    const code = randomBytes(32).toString('base64url');
    this.#codes.set(code, { ...of, grant, endsAt: now + LIFE_MS });
    const own = this.#byUser.get(of.user) ?? new Set();
    this.#byUser.set(of.user, own.add(code));
    return code;
  }

  /** Works once; a wrong verifier also consumes the code. */
  redeem(code: string, verifier: string): Grant | undefined {
    const issued = this.#codes.get(code);
    this.#forget(code);
    if (issued === undefined || this.#clock.now() >= issued.endsAt) return undefined;
    return isProof(verifier, issued.challenge) ? issued.grant : undefined;
  }

  #makeRoomOf(user: string): void {
    const own = this.#byUser.get(user);
    const [oldest] = own ?? [];
    if (own?.size === MOST_OF_ONE_USER && oldest !== undefined) this.#forget(oldest);
  }

  #forget(code: string): void {
    const user = this.#codes.get(code)?.user;
    this.#codes.delete(code);
    const own = user === undefined ? undefined : this.#byUser.get(user);
    own?.delete(code);
    if (user !== undefined && own?.size === 0) this.#byUser.delete(user);
  }

  #forgetEnded(now: number): void {
    for (const [code, { endsAt }] of this.#codes) {
      if (endsAt > now) return;
      this.#forget(code);
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
