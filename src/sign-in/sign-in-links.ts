/**
 * Links that sign a user in once, for the terminal that starts the daemon (as Jupyter does). A link is in
 * memory, so that it ends with the process.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '../apimachinery/index.ts';

/** Long enough to read the terminal; a link that lies in a log is of no use later. */
const LIFE_MS = 10 * 60_000;
const MOST_LINKS = 16;

interface Link {
  readonly user: string;
  readonly endsAt: number;
}

export class SignInLinks {
  readonly #clock: Clock;
  /** By the digest of the code, so that a lookup reveals nothing of a code by its time. */
  readonly #links = new Map<string, Link>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Code of a new link for the user. The oldest link is evicted when there are too many. */
  issue(user: string): string {
    const [oldest] = this.#links.keys();
    if (this.#links.size >= MOST_LINKS && oldest !== undefined) this.#links.delete(oldest);
    const code = randomBytes(32).toString('base64url');
    this.#links.set(digestOf(code), { user, endsAt: this.#clock.now() + LIFE_MS });
    return code;
  }

  /** User of the link, once; undefined: the code is unknown, used or too old. */
  redeem(code: string): string | undefined {
    const digest = digestOf(code);
    const link = this.#links.get(digest);
    this.#links.delete(digest);
    return link !== undefined && this.#clock.now() < link.endsAt ? link.user : undefined;
  }
}

function digestOf(code: string): string {
  return createHash('sha256').update(code).digest('base64url');
}
