/**
 * The MAC of an encrypted file: SHA-512 over the values in the order of the text, encrypted with the
 * data key. It proves that nobody without the data key removed, added or exchanged a value. It does
 * not prove who wrote the file.
 */
import { createHash } from 'node:crypto';
import type { SealMetadata } from './metadata.ts';
import { openValue, sealValue } from './sealed-value.ts';
import { SealingError } from './sealing-error.ts';

/** Prefix of the hash if it covers only encrypted values, so that the two modes never agree. */
const MAC_ONLY_ENCRYPTED = Buffer.from(
  '8a3fd2ad54ce66527b1034f3d147be0b0b975b3bf44f72c6fdadec8176f27d69',
  'hex',
);

export class Mac {
  readonly #hash = createHash('sha512');
  readonly #sealedOnly: boolean;

  constructor(sealedOnly: boolean) {
    this.#sealedOnly = sealedOnly;
    if (sealedOnly) this.#hash.update(MAC_ONLY_ENCRYPTED);
  }

  sealed(bytes: Buffer): void {
    this.#hash.update(bytes);
  }

  /** Adds a plaintext value. */
  clear(bytes: Buffer | undefined): void {
    if (!this.#sealedOnly && bytes !== undefined) this.#hash.update(bytes);
  }

  digest(): string {
    return this.#hash.digest('hex').toUpperCase();
  }
}

/** The stored MAC. Do not show it: short secrets could be guessed from it. Throws SealingError. */
export function storedMac(metadata: SealMetadata, dataKey: Buffer): string {
  try {
    return openValue(metadata.mac, dataKey, metadata.lastModified).bytes.toString('utf8');
  } catch (cause) {
    throw new SealingError('the MAC does not open: mac or lastmodified was changed', { cause });
  }
}

export function sealMac(mac: string, dataKey: Buffer, lastModified: string): string {
  return sealValue({ type: 'str', bytes: Buffer.from(mac) }, dataKey, lastModified);
}
