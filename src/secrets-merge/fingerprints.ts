/**
 * Fingerprints of values, so that agreements can be stored on disk and compared without storing a
 * secret. HMAC, because a short secret can be guessed from a plain hash.
 */
import { createHmac } from 'node:crypto';

/** Decoded values by key. */
export type SecretValues = ReadonlyMap<string, Uint8Array>;

/** Fingerprints by key. Equal fingerprints mean equal bytes under the same key. */
export type FingerprintMap = ReadonlyMap<string, string>;

export const NO_PRINTS: FingerprintMap = new Map();

export class Fingerprints {
  readonly #secret: Uint8Array;

  /** `secret`: 32 random bytes with the same lifetime as the bases made with them. */
  constructor(secret: Uint8Array) {
    this.#secret = secret;
  }

  of(values: SecretValues): FingerprintMap {
    return new Map([...values].map(([key, value]) => [key, this.#print(key, value)]));
  }

  /** One fingerprint of a whole map, independent of its order. */
  whole(prints: FingerprintMap): string {
    const lines = [...prints].map(([key, print]) => `${JSON.stringify(key)} ${print}`).sort();
    return this.#hmac(Buffer.from(`whole\n${lines.join('\n')}`));
  }

  #print(key: string, value: Uint8Array): string {
    const name = Buffer.from(key);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(name.length);
    return this.#hmac(Buffer.concat([Buffer.from('value\n'), length, name, value]));
  }

  #hmac(bytes: Uint8Array): string {
    return createHmac('sha256', this.#secret).update(bytes).digest('base64url');
  }
}

export function sameFingerprints(a: FingerprintMap, b: FingerprintMap): boolean {
  return a.size === b.size && [...a].every(([key, print]) => b.get(key) === print);
}
