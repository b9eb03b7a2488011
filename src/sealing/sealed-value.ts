/**
 * One value in the SOPS format: `ENC[AES256_GCM,data:…,iv:…,tag:…,type:…]`. The path of its keys is the
 * additional authenticated data, so that a value cannot be moved to another place.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { SealingError } from './sealing-error.ts';

export type SealedType = 'str' | 'int' | 'float' | 'bool' | 'bytes' | 'time' | 'comment';

/** A plaintext value as bytes, and its type. */
export interface ClearValue {
  readonly type: SealedType;
  readonly bytes: Buffer;
}

const CIPHER = 'aes-256-gcm';
/** The length of SOPS, not the usual 12. */
const IV_BYTES = 32;
const TAG_BYTES = 16;
/** A block scalar has a line break at its end. */
const SEALED =
  /^ENC\[AES256_GCM,data:([A-Za-z0-9+/]*={0,2}),iv:([A-Za-z0-9+/]+={0,2}),tag:([A-Za-z0-9+/]+={0,2}),type:(str|int|float|bool|bytes|time|comment)\]\n?$/;

export function isSealed(value: unknown): boolean {
  return typeof value === 'string' && value.startsWith('ENC[AES256_GCM,') && SEALED.test(value);
}

/**
 * Encrypted bytes of a value, the same for every spelling of it: what is decrypted does not depend on
 * its type, its padding or a line break at its end. Undefined: the text is not encrypted.
 */
export function ciphertextOf(text: string): string | undefined {
  const parts = SEALED.exec(text)?.slice(1, 4);
  return parts?.map((part) => Buffer.from(part, 'base64').toString('hex')).join(' ');
}

/** Ends at the next bracket of any kind: to go on to the next `]` from each beginning takes quadratic time. */
const ANYWHERE = /ENC\[AES256_GCM,[^[\]\r\n]*\]/g;

/** `ciphertextOf` each value in the text of a file, wherever it stands. */
export function ciphertextsIn(text: string): Set<string> {
  const found = text.match(ANYWHERE) ?? [];
  return new Set(found.flatMap((value) => ciphertextOf(value) ?? []));
}

/** The additional authenticated data of a value: its keys from the root, without list indexes. */
export function boundTo(path: readonly string[]): string {
  return `${path.join(':')}:`;
}

/** Encrypts a value. An empty one stays empty, as in SOPS. */
export function sealValue(value: ClearValue, dataKey: Buffer, bound: string): string {
  if (value.bytes.length === 0) return '';
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, dataKey, iv);
  cipher.setAAD(Buffer.from(bound));
  const data = Buffer.concat([cipher.update(value.bytes), cipher.final()]);
  const [text, nonce, tag] = [data, iv, cipher.getAuthTag()].map((it) => it.toString('base64'));
  return `ENC[AES256_GCM,data:${text},iv:${nonce},tag:${tag},type:${value.type}]`;
}

/** Throws SealingError if the text is not an encrypted value of this key and place. */
export function openValue(text: string, dataKey: Buffer, bound: string): ClearValue {
  const [, data = '', iv = '', tag = '', type] = SEALED.exec(text) ?? [];
  if (type === undefined) throw new SealingError('is not a sealed value');
  const authTag = Buffer.from(tag, 'base64');
  // Node accepts shorter tags, which are easier to forge.
  if (authTag.length !== TAG_BYTES) throw new SealingError('is not a sealed value');
  try {
    const decipher = createDecipheriv(CIPHER, dataKey, Buffer.from(iv, 'base64'));
    decipher.setAAD(Buffer.from(bound));
    decipher.setAuthTag(authTag);
    const bytes = Buffer.concat([decipher.update(Buffer.from(data, 'base64')), decipher.final()]);
    return { type: type as SealedType, bytes };
  } catch (cause) {
    throw new SealingError(
      'does not open: it was changed, or moved here from another place; seal the value anew',
      { cause },
    );
  }
}

/** The plaintext of a JSON scalar. */
export function clearValueOf(value: string | number | boolean): ClearValue {
  if (typeof value === 'string') return { type: 'str', bytes: Buffer.from(value) };
  if (typeof value === 'boolean') return { type: 'bool', bytes: Buffer.from(boolText(value)) };
  if (Number.isSafeInteger(value)) return { type: 'int', bytes: Buffer.from(String(value)) };
  return { type: 'float', bytes: Buffer.from(plainDigits(value)) };
}

function boolText(value: boolean): string {
  return value ? 'True' : 'False';
}

/** A number without an exponent, as Go writes it with 'f' and -1. */
export function plainDigits(value: number): string {
  const text = String(value);
  const match = /^(-?)(\d+)(?:\.(\d+))?e([+-]\d+)$/.exec(text);
  if (match === null) return Object.is(value, -0) ? '-0' : text;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  const digits = whole + fraction;
  const point = whole.length + Number(exponent);
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`;
  if (point >= digits.length) return sign + digits + '0'.repeat(point - digits.length);
  return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
}
