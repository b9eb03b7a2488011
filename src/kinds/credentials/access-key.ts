/**
 * Text of access keys: creation, recognition and hashing.
 *
 * `gp<type>_` + 38 random base62 characters (226 bits) + 6 base62 characters of the CRC-32 of all
 * before them. By the checksum a scanner finds leaked keys, and a mistyped key is refused without a
 * lookup. The underscore lets a double click select the whole key.
 */
import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 38;
const CHECKSUM_LENGTH = 6;

const PREFIX = /^gp[a-z]{1,3}_/;
const MINTED = /^gp[a-z]{1,3}_[0-9A-Za-z]{44}$/;
const CONCEALED = /^sha256:[0-9a-f]{64}$/;

/** Domain separation: the hash of a key differs from any other hash of the same text. */
const DOMAIN = 'gitplane.dev/access-key\0';

/** Prefix per `spec.type`. */
const PREFIX_OF_TYPE: Readonly<Record<string, string>> = {
  '': 'gpu',
  User: 'gpu',
  Login: 'gpl',
  Reset: 'gps',
  OIDCRefreshToken: 'gpr',
  NetworkPeer: 'gpn',
  Workspace: 'gpw',
  Other: 'gpo',
};

/** Prefix of a type, for `mintAccessKey`. */
export function accessKeyPrefix(type: string): string {
  return PREFIX_OF_TYPE[type] ?? 'gpo';
}

/**
 * A new key. `prefix` is `gp` and one to three lower-case letters. `beginning` takes the place of the
 * first random characters; successive keys of one login share it.
 */
export function mintAccessKey(prefix: string, beginning = ''): string {
  const start = `${prefix}_${beginning}${randomBase62(RANDOM_LENGTH - beginning.length)}`;
  const key = start + checksum(start);
  if (!MINTED.test(key)) throw new TypeError(`"${prefix}" is not a prefix of an access key`);
  return key;
}

/** True if the text has the format of `mintAccessKey` and its checksum matches. */
export function hasValidChecksum(key: string): boolean {
  return (
    MINTED.test(key) && checksum(key.slice(0, -CHECKSUM_LENGTH)) === key.slice(-CHECKSUM_LENGTH)
  );
}

/** Index of the first unhashed key in a text. */
export function findAccessKey(text: string): number | undefined {
  for (const { 0: key, index } of text.matchAll(/\bgp[a-z]{1,3}_[0-9A-Za-z]{44}\b/g)) {
    if (hasValidChecksum(key)) return index;
  }
  return undefined;
}

/** `sha256:` and 64 hexadecimal digits. */
export function isConcealedAccessKey(value: string): boolean {
  return CONCEALED.test(value);
}

/**
 * The hash that git and the state store in place of a key. A hash comes back unchanged, and so does
 * the empty text, which requests a new key.
 */
export function concealAccessKey(key: string): string {
  if (key === '' || isConcealedAccessKey(key)) return key;
  return `sha256:${hash('sha256', DOMAIN + key, 'hex')}`;
}

const SHORTEST_OWN_KEY = 32;
const LONGEST_KEY = 512;
/** Random hexadecimal digits have more; words, repetitions and placeholders have fewer. */
const FEWEST_DISTINCT = 8;

/** Problems of a key that a client chose, or of a hash. The messages never repeat the key. */
export function accessKeyProblems(value: unknown): string[] {
  if (typeof value !== 'string') return ['must be a text'];
  if (value === '' || isConcealedAccessKey(value)) return [];
  if (value.startsWith('sha256:')) {
    return ['must be "sha256:" and 64 lower-case hexadecimal digits where it is the hash of a key'];
  }
  if (PREFIX.test(value)) {
    return hasValidChecksum(value)
      ? []
      : ['looks like a key of this platform with a wrong character'];
  }
  return ownKeyProblems(value);
}

function ownKeyProblems(key: string): string[] {
  const problems: string[] = [];
  if (key.length < SHORTEST_OWN_KEY || key.length > LONGEST_KEY) {
    problems.push(
      `must have ${SHORTEST_OWN_KEY} to ${LONGEST_KEY} characters; leave it out, and the server makes a key`,
    );
  }
  if (!/^[A-Za-z0-9._~+/=-]*$/.test(key)) {
    problems.push(
      'must consist of letters, digits and . _ ~ + / = -, as bearer tokens do (RFC 6750)',
    );
  }
  if (new Set(key).size < FEWEST_DISTINCT) {
    problems.push('must be random; leave it out, and the server makes a key');
  }
  return problems;
}

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    digits = ALPHABET[rest % ALPHABET.length] + digits;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return digits;
}

/** Drops bytes from the largest multiple of 62 up, so that all characters are equally likely. */
function randomBase62(length: number): string {
  const limit = 256 - (256 % ALPHABET.length);
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < limit && text.length < length) text += ALPHABET[byte % ALPHABET.length];
    }
  }
  return text;
}
