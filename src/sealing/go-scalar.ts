/**
 * Plaintext scalars by the rules of go-yaml v3, which SOPS uses. They differ from the rules of
 * manifests, and matter only for files whose MAC covers plaintext values.
 */
import { resolvePlain } from '../manifests/index.ts';
import { plainDigits } from './sealed-value.ts';

export type Scalar = string | number | boolean | null;

interface Written {
  readonly type?: string | undefined;
  readonly tag?: string | undefined;
}

const NULLS = new Set(['', '~', 'null', 'Null', 'NULL']);
const BOOLS: ReadonlyMap<string, boolean> = new Map([
  ...['true', 'True', 'TRUE'].map((word) => [word, true] as const),
  ...['false', 'False', 'FALSE'].map((word) => [word, false] as const),
]);
const INTEGER = /^[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|[0-9]+)$/;
const FLOAT = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
const DATE =
  /^(\d{4})-(\d{1,2})-(\d{1,2})(?:(?:[Tt]|[ \t]+)(\d{1,2}):(\d{2}):(\d{2})(\.\d+)?[ \t]*(Z|[-+]\d{1,2}(?::?\d{2})?)?)?$/;

/** The value in a manifest, and its bytes in the MAC. Undefined bytes: null is not in the MAC. */
export function untaggedScalar(
  source: string,
  written: Written | undefined,
): { value: Scalar; bytes: Buffer | undefined } {
  const plain = written?.type === 'PLAIN' && written.tag === undefined;
  if (!plain) return { value: source, bytes: Buffer.from(source) };
  return { value: resolvePlain(source) ?? null, bytes: bytesOf(source) };
}

function bytesOf(source: string): Buffer | undefined {
  if (NULLS.has(source)) return undefined;
  const bool = BOOLS.get(source);
  if (bool !== undefined) return Buffer.from(bool ? 'True' : 'False');
  return Buffer.from(numberText(source.replaceAll('_', '')) ?? timeText(source) ?? source);
}

function numberText(plain: string): string | undefined {
  if (!/^[-+.0-9]/.test(plain)) return undefined;
  if (INTEGER.test(plain)) return integerText(plain);
  return FLOAT.test(plain) ? plainDigits(Number(plain)) : undefined;
}

function integerText(plain: string): string | undefined {
  const sign = plain.startsWith('-') ? '-' : '';
  const digits = plain.replace(/^[-+]/, '');
  const octal = /^0[0-7]+$/.test(digits) ? `0o${digits.slice(1)}` : digits;
  if (/^0\d+$/.test(octal)) return plainDigits(Number(plain));
  return sign + BigInt(octal.toLowerCase()).toString();
}

/** RFC 3339, as Go writes a time: without zeros at the end of a fraction. */
function timeText(source: string): string | undefined {
  const match = DATE.exec(source);
  if (match === null) return undefined;
  const [
    ,
    year = '',
    month = '',
    day = '',
    hour = '0',
    minute = '00',
    second = '00',
    part = '',
    zone,
  ] = match;
  const pad = (text: string): string => text.padStart(2, '0');
  const date = `${year}-${pad(month)}-${pad(day)}T${pad(hour)}:${minute}:${second}`;
  if (Number.isNaN(Date.parse(`${date}Z`))) return undefined;
  const fraction = part.slice(0, 10).replace(/\.?0*$/, '');
  if (zone === undefined || zone === 'Z') return `${date + fraction}Z`;
  const [, sign = '+', hours = '', minutes = '00'] = /^([-+])(\d{1,2}):?(\d{2})?$/.exec(zone) ?? [];
  const offset = `${pad(hours)}:${minutes}`;
  return date + fraction + (offset === '00:00' ? 'Z' : sign + offset);
}
