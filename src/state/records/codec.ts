/**
 * Records at rest. Records that may hold a secret are sealed with AES-256-GCM, so that a copy of
 * the state directory alone reveals none; the others stay plain JSON.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { ObjectKey } from '../../apimachinery/index.ts';

export interface RecordCodec {
  /** True if objects of this kind may hold secret values. */
  isSecret(key: ObjectKey): boolean;
  encode(recordKey: string, plain: string | Buffer, secret: boolean): Buffer;
  /** Throws when the record was sealed with another key, moved, or damaged. */
  decode(recordKey: string, bytes: Buffer): Buffer;
  isSealed(bytes: Buffer): boolean;
}

/** First byte of a sealed record. A plain record begins with JSON. */
const SEALED = 1;
const SALT_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const MARK_BYTES = 1;
const HEADER_BYTES = 1 + SALT_BYTES + NONCE_BYTES;
const CIPHER = 'aes-256-gcm';

/**
 * Seals with a key that is derived for this run of the process from a random salt, and counts the
 * nonces. So no nonce is used twice with one key, however many records are written (random nonces
 * with the key of the file would come near their limit). The record key is authenticated, so that
 * one record cannot replace another.
 */
export function sealingCodec(stateKey: Buffer, isSecret: (key: ObjectKey) => boolean): RecordCodec {
  const derived = new Map<string, Buffer>();
  const keyFor = (salt: Buffer): Buffer => {
    const id = salt.toString('latin1');
    let key = derived.get(id);
    if (key === undefined) {
      key = Buffer.from(hkdfSync('sha256', stateKey, salt, 'gitplane state record', 32));
      derived.set(id, key);
    }
    return key;
  };
  const salt = randomBytes(SALT_BYTES);
  const ownKey = keyFor(salt);
  let count = 0n;

  function seal(recordKey: string, plain: Buffer): Buffer {
    const nonce = Buffer.alloc(NONCE_BYTES);
    nonce.writeBigUInt64BE(count++, NONCE_BYTES - 8);
    const cipher = createCipheriv(CIPHER, ownKey, nonce).setAAD(Buffer.from(recordKey));
    const body = [cipher.update(plain), cipher.final()];
    return Buffer.concat([Buffer.of(SEALED), salt, nonce, cipher.getAuthTag(), ...body]);
  }

  function unseal(recordKey: string, bytes: Buffer): Buffer {
    const tag = bytes.subarray(HEADER_BYTES, HEADER_BYTES + TAG_BYTES);
    if (tag.length !== TAG_BYTES) throw new Error('the record is cut short');
    const key = keyFor(bytes.subarray(1, 1 + SALT_BYTES));
    const nonce = bytes.subarray(1 + SALT_BYTES, HEADER_BYTES);
    const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(recordKey)).setAuthTag(tag);
    const body = bytes.subarray(HEADER_BYTES + TAG_BYTES);
    const plain = decipher.update(body);
    // Checks the tag; GCM has no remaining bytes here.
    decipher.final();
    return plain;
  }

  return {
    isSecret,
    encode: (recordKey, plain, secret) => {
      const bytes = typeof plain === 'string' ? Buffer.from(plain) : plain;
      return secret ? seal(recordKey, bytes) : bytes;
    },
    decode: (recordKey, bytes) => (isSealed(bytes) ? unseal(recordKey, bytes) : bytes),
    isSealed,
  };
}

/**
 * For a store that other processes can write to, such as etcd: every record is sealed, and an
 * unsealed one is refused. Only one-byte marks are exempt: they carry nothing beyond their key.
 */
export function strictCodec(stateKey: Buffer): RecordCodec {
  const codec = sealingCodec(stateKey, () => true);
  return {
    ...codec,
    encode: (recordKey, plain) => codec.encode(recordKey, plain, true),
    decode: (recordKey, bytes) => {
      if (bytes.length > MARK_BYTES && !isSealed(bytes))
        throw new Error('the record is not sealed');
      return codec.decode(recordKey, bytes);
    },
  };
}

function isSealed(bytes: Buffer): boolean {
  return bytes[0] === SEALED;
}
