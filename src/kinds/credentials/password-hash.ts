/**
 * Hash of a password: `$scrypt$ln=15,r=8,p=1$<salt>$<hash>`, both in base64 without padding (the PHC
 * string format). A check takes 32 MiB and about 80 ms. Hashes with a higher cost are refused, at the
 * write and at the check.
 */

export interface PasswordHash {
  /** Binary logarithm of the cost. */
  readonly ln: number;
  readonly r: number;
  readonly p: number;
  readonly salt: Buffer;
  readonly hash: Buffer;
}

const FORM = /^\$scrypt\$ln=(14|15),r=8,p=1\$([A-Za-z0-9+/]{22,86})\$([A-Za-z0-9+/]{43})$/;

/** Undefined for any other text. */
export function parsePasswordHash(text: string): PasswordHash | undefined {
  const match = FORM.exec(text);
  if (match === null) return undefined;
  const [, ln = '', salt = '', hash = ''] = match;
  return {
    ln: Number(ln),
    r: 8,
    p: 1,
    salt: Buffer.from(salt, 'base64'),
    hash: Buffer.from(hash, 'base64'),
  };
}

export function formatPasswordHash({ ln, r, p, salt, hash }: PasswordHash): string {
  const text = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');
  return `$scrypt$ln=${ln},r=${r},p=${p}$${text(salt)}$${text(hash)}`;
}

/** Value of a user without a password. */
const NONE = '!';

/** The messages never repeat the value: it may be a password. */
export function passwordHashProblems(value: unknown): string[] {
  if (value === NONE) return [];
  if (typeof value === 'string' && parsePasswordHash(value) !== undefined) return [];
  return [
    'must be "$scrypt$ln=15,r=8,p=1$<salt>$<hash>", as `gitplane users passwd` makes it (ln 14 or 15, r 8, p 1; no higher cost), or "!" for none; never a password',
  ];
}
