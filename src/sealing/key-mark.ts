/**
 * Provenance of data keys. Recipients are public, so an attacker can wrap a data key of their own for
 * them, or copy a wrapped one into another file. Two proofs, which only the first identity can make,
 * prevent this: the data key itself proves that it was generated here, and the mark proves for which
 * recipients it was wrapped.
 */
import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import type { WrappedKey } from './metadata.ts';
import type { PgpEntry } from './pgp.ts';

const KEY_BYTES = 32;
/** Random part of a data key: 128 bits, as strong as the tag in the other half. */
const RANDOM_BYTES = 16;

interface MarkedKey {
  readonly dataKey: Buffer;
  readonly age: readonly WrappedKey[];
  readonly pgp?: readonly PgpEntry[] | undefined;
}

export class KeyMarker {
  readonly #forMarks: Buffer;
  readonly #forKeys: Buffer;

  constructor(identity: string) {
    const derive = (info: string): Buffer =>
      Buffer.from(hkdfSync('sha256', identity, '', `gitplane: ${info}, version 1`, KEY_BYTES));
    this.#forMarks = derive('mark of a data key');
    this.#forKeys = derive('generation of a data key');
  }

  /** A data key: random bytes and their HMAC. Without the identity all of it looks random. */
  generate(): Buffer {
    return this.#keyFrom(randomBytes(RANDOM_BYTES));
  }

  /** True if `generate` made the key. */
  isGenerated(dataKey: Buffer): boolean {
    return isEqual(dataKey, this.#keyFrom(dataKey.subarray(0, RANDOM_BYTES)));
  }

  /** A MAC over the data key and each wrapped copy of it. */
  mark(key: MarkedKey): string {
    return this.#digest(key).toString('base64');
  }

  fits(mark: string, key: MarkedKey): boolean {
    return isEqual(Buffer.from(mark, 'base64'), this.#digest(key));
  }

  #keyFrom(random: Buffer): Buffer {
    const tag = createHmac('sha256', this.#forKeys).update(random).digest();
    return Buffer.concat([random, tag], KEY_BYTES);
  }

  #digest({ dataKey, age, pgp = [] }: MarkedKey): Buffer {
    const wrapped = age.map(({ recipient, enc }) => [recipient, enc]);
    const others = pgp.map(({ fp, enc }) => [fp, enc]);
    // Marks without PGP recipients stay compatible with older ones.
    const all = others.length === 0 ? [wrapped] : [wrapped, others];
    const signed = JSON.stringify([dataKey.toString('base64'), ...all]);
    return createHmac('sha256', this.#forMarks).update(signed).digest();
  }
}

function isEqual(given: Buffer, expected: Buffer): boolean {
  return given.length === expected.length && timingSafeEqual(given, expected);
}
