/**
 * Passwords: how they are hashed and checked (scrypt, N = 2^15, r = 8, p = 1: 32 MiB and about 80 ms
 * in a thread). At most a few at a time, so that a crowd costs neither the memory nor the threads
 * that everything else needs.
 */
import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { formatPasswordHash, type PasswordHash, parsePasswordHash } from '../../kinds/index.ts';

const LN = 15;
const R = 8;
const SALT_BYTES = 16;
const HASH_BYTES = 32;

export const SHORTEST_PASSWORD = 8;
/** Limit in bytes; longer passwords only cost time. */
export const LONGEST_PASSWORD = 1024;

/** Value of `spec.passwordHash` of a User. Throws RangeError for a password that is too short or long. */
export async function hashPassword(password: string): Promise<string> {
  const bytes = Buffer.from(password.normalize('NFC'));
  if (password.length < SHORTEST_PASSWORD || bytes.length > LONGEST_PASSWORD) {
    throw new RangeError(
      `a password has at least ${SHORTEST_PASSWORD} characters and at most ${LONGEST_PASSWORD} bytes`,
    );
  }
  const salt = randomBytes(SALT_BYTES);
  const cost = { ln: LN, r: R, p: 1, salt };
  return formatPasswordHash({ ...cost, hash: await derive(bytes, cost) });
}

/** Hashed for users without a password, so that the check takes as long. */
const NO_HASH: PasswordHash = {
  ln: LN,
  r: R,
  p: 1,
  salt: Buffer.alloc(SALT_BYTES, 'gitplane'),
  hash: Buffer.alloc(HASH_BYTES),
};

const AT_ONCE = 2;
const MOST_WAITING = 64;

/** Too many password checks are waiting. */
export class TooManyPasswordsError extends Error {}

export class PasswordChecker {
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  /**
   * True if the password matches the hash. False for text that is not a hash, after the same time. Rejects
   * with TooManyPasswordsError.
   */
  async check(password: string, hashText: string | undefined): Promise<boolean> {
    const bytes = Buffer.from(password.normalize('NFC'));
    if (bytes.length > LONGEST_PASSWORD) return false;
    const known = hashText === undefined ? undefined : parsePasswordHash(hashText);
    const wanted = known ?? NO_HASH;
    await this.#turn();
    try {
      const same = timingSafeEqual(await derive(bytes, wanted), wanted.hash);
      return same && known !== undefined;
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }

  async #turn(): Promise<void> {
    while (this.#running >= AT_ONCE) {
      if (this.#waiting.length >= MOST_WAITING) throw new TooManyPasswordsError();
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    this.#running += 1;
  }
}

function derive(password: Buffer, cost: Omit<PasswordHash, 'hash'>): Promise<Buffer> {
  const { ln, r, p, salt } = cost;
  const N = 2 ** ln;
  const options: ScryptOptions = { N, r, p, maxmem: 256 * N * r };
  return new Promise((resolve, reject) => {
    scrypt(password, salt, HASH_BYTES, options, (error, key) =>
      error === null ? resolve(key) : reject(error),
    );
  });
}
