/** Rules of `spec.data` of secrets: keys, base64 and size. No message holds a value. */
import {
  type FieldError,
  type FieldPath,
  invalid,
  invalidSecret,
  isRecord,
  type KubeObject,
  tooLong,
  valueAt,
} from '../../apimachinery/index.ts';
import type { PrinterColumn } from '../kind.ts';

const KEY = /^[-._a-zA-Z0-9]+$/;
const LONGEST_KEY = 253;
/** The limit of a Kubernetes Secret: derived secrets have to fit into one. */
const LARGEST_DATA = 1024 * 1024;

export function secretDataOf(object: KubeObject): Readonly<Record<string, string>> {
  return textsAt(object, ['spec', 'data']);
}

export function secretDataProblems(object: KubeObject): FieldError[] {
  return base64DataProblems(object, ['spec', 'data']);
}

function textsAt(object: KubeObject, path: FieldPath): Readonly<Record<string, string>> {
  const value = valueAt(object, path);
  return isTextMap(value) ? value : {};
}

/** The schema has checked the values. */
function isTextMap(value: unknown): value is Readonly<Record<string, string>> {
  return isRecord(value);
}

/** Problems of the keys of a map at a path. */
export function keysProblems(object: KubeObject, path: readonly string[]): FieldError[] {
  const keys = Object.keys(textsAt(object, path));
  return keys.flatMap((key) => keyProblems([...path, key], key));
}

/** Problems of a map of base64 values at a path. */
export function base64DataProblems(object: KubeObject, path: readonly string[]): FieldError[] {
  const errors: FieldError[] = [];
  let size = 0;
  for (const [key, value] of Object.entries(textsAt(object, path))) {
    errors.push(...keyProblems([...path, key], key));
    size += Buffer.byteLength(value, 'base64');
    if (!isBase64(withoutBreaks(value)))
      errors.push(invalidSecret([...path, key], base64Words(value)));
  }
  if (size > LARGEST_DATA) errors.push(tooLong(path, LARGEST_DATA));
  return errors;
}

/** Drops line breaks, as Kubernetes does: a block scalar ends with one, and encoders wrap lines. */
function withoutBreaks(value: string): string {
  return /[\r\n]/.test(value) ? value.replace(/[\r\n]/g, '') : value;
}

/** Base64 with padding, whose unused bits are zero. */
const BASE64 =
  /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$/;
/** Longer texts are decoded: the pattern needs much memory for them. */
const LONGEST_BY_PATTERN = 1024;

/** True if an encoder would write the value (RFC 4648 section 4). */
function isBase64(value: string): boolean {
  if (value.length <= LONGEST_BY_PATTERN) return BASE64.test(value);
  return Buffer.from(value, 'base64').toString('base64') === value;
}

function keyProblems(path: FieldPath, key: string): FieldError[] {
  if (key.length > LONGEST_KEY) return [tooLong(path, LONGEST_KEY)];
  if (!KEY.test(key)) {
    const detail =
      "a valid key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name', or 'KEY_NAME', or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
    return [invalid(path, key, detail)];
  }
  return key === '.' || key.startsWith('..')
    ? [invalid(path, key, "must not be '.' or begin with '..'")]
    : [];
}

function base64Words(value: string): string {
  const rule = 'must be base64 (RFC 4648 section 4)';
  if (/\s/.test(value) && /^[\sA-Za-z0-9+/=]*$/.test(value)) {
    return `${rule} without spaces`;
  }
  if (/^[A-Za-z0-9_-]+=*$/.test(value) && /[-_]/.test(value)) {
    return `${rule} with "+" and "/", not the URL-safe alphabet`;
  }
  if (/^[A-Za-z0-9+/]+={0,2}$/.test(value)) return `${rule} with correct padding`;
  return `${rule}; encode the value first, as "base64 -w0" does`;
}

/** Column with the number of keys; never their values. */
export const DATA_KEYS: PrinterColumn = {
  name: 'Keys',
  type: 'integer',
  description: 'Number of keys in the data.',
  value: (object) => Object.keys(secretDataOf(object)).length,
};
