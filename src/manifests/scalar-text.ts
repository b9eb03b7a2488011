/**
 * Strings, numbers and words → the text of one scalar, so that readers of YAML 1.1 (go-yaml, so
 * kubectl) and of YAML 1.2 read the same value. Nothing here knows where the text will stand but
 * for what a flow collection forbids.
 */
import type { JsonValue } from '../apimachinery/index.ts';
import { resolvePlain } from './scalar-meaning.ts';

/** Where a scalar stands: inside `{}` or `[]`, more characters end an unquoted one. */
export interface ScalarPlace {
  readonly flow: boolean;
}

/** Words that some reader takes for a boolean or null, in lower case; and YAML 1.1's `=` and `<<`. */
const WORDS = new Set([
  '',
  'y',
  'n',
  'yes',
  'no',
  'on',
  'off',
  'true',
  'false',
  'null',
  '~',
  '=',
  '<<',
]);
/** Integers of any version in any base, base 60 included. */
const INTEGER = /^[-+]?(?:0[bB][01_]+|0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|[0-9][0-9_]*(?::[0-9_]+)*)$/;
/** Floats of any version, and more than those: a lone sign, `.`, `e5` and `1:30.5` too. */
const FLOAT =
  /^[-+]?(?:[0-9][0-9_:]*(?:\.[0-9_]*)?|\.[0-9_]*)?(?:[eE][-+]?[0-9_]+)?$|^[-+]?\.(?:inf|nan)$/i;
const TIMESTAMP = /^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}/;
/** First characters that begin something else than an unquoted scalar. */
const INDICATOR = /^[\s,[\]{}#&*!|>'"%@`?:]|^-(?:\s|$)|^(?:---|\.\.\.)/;
const ENDS_PLAIN = /:(?:\s|$)|\s#|\s$/;
/** More than YAML forbids: go-yaml ends an unquoted scalar at a `?`, older readers at a `:`. */
const ENDS_PLAIN_IN_FLOW = /[,[\]{}?:]|^-/;
/**
 * Controls, format characters (marks that hide or reorder text), unassigned and private
 * characters, half surrogates and the line separators of YAML 1.1: written as escapes.
 */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/u;

/** True where every reader takes the unquoted text for this very string. */
export function isPlainSafe(text: string, { flow }: ScalarPlace): boolean {
  if (UNPRINTABLE.test(text) || INDICATOR.test(text) || ENDS_PLAIN.test(text)) return false;
  if (flow && ENDS_PLAIN_IN_FLOW.test(text)) return false;
  return !isAmbiguous(text);
}

/** True where some reader takes the unquoted text for a boolean, null, a number or a date. */
function isAmbiguous(text: string): boolean {
  if (resolvePlain(text) !== text) return true;
  if (text.length <= 5 && WORDS.has(text.toLowerCase())) return true;
  const first = text.charCodeAt(0);
  // Digits, sign, point, and the `e` and `:` with which some take a number to begin.
  const mayBeNumber = (first >= 0x30 && first <= 0x3a) || '+-.eE_'.includes(text.charAt(0));
  return mayBeNumber && (INTEGER.test(text) || FLOAT.test(text) || TIMESTAMP.test(text));
}

/** True where a single-quoted scalar on one line can hold the text. */
export function isSingleQuotable(text: string): boolean {
  return !UNPRINTABLE.test(text);
}

export function singleQuoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\n': '\\n',
  '\t': '\\t',
  '\r': '\\r',
  '\0': '\\0',
};
const NEEDS_ESCAPE = /["\\\p{C}\p{Zl}\p{Zp}]/gu;

/** A double-quoted scalar on one line; also valid JSON where `text` has no character beyond U+FFFF that needs an escape. */
export function doubleQuoted(text: string): string {
  return `"${text.replace(NEEDS_ESCAPE, escapeCharacter)}"`;
}

function escapeCharacter(char: string): string {
  const short = ESCAPES[char];
  if (short !== undefined) return short;
  const code = char.codePointAt(0) ?? 0;
  const hex = code.toString(16).toUpperCase();
  return code > 0xffff ? `\\U${hex.padStart(8, '0')}` : `\\u${hex.padStart(4, '0')}`;
}

/** Keys that go-yaml, and so sops, writes with single quotes: both leave such a line alone then. */
const SINGLE_QUOTED = /^(?:-|---|\.\.\.)$/;

/** The quoted text that is easier to read: double quotes unless they would need escapes. */
export function quoted(text: string): string {
  if (SINGLE_QUOTED.test(text)) return singleQuoted(text);
  return /["\\]/.test(text) && isSingleQuotable(text) ? singleQuoted(text) : doubleQuoted(text);
}

/** A string on one line, unquoted where that is safe. */
export function stringText(text: string, place: ScalarPlace): string {
  return isPlainSafe(text, place) ? text : quoted(text);
}

/**
 * Numbers, booleans and null. Integers beyond 2^53 get an exponent: without one they would be read
 * as integers that a double cannot hold.
 */
export function wordText(value: number | boolean | null): string {
  if (typeof value !== 'number') return String(value);
  if (!Number.isFinite(value)) throw new TypeError('NaN and infinity are not JSON numbers');
  if (value === 0) return '0';
  const exact = Number.isInteger(value) && !Number.isSafeInteger(value);
  const text = exact ? value.toExponential() : String(value);
  // `1e+21` is a string to some readers of YAML 1.1, `1.0e+21` is not.
  return text.replace(/^(-?\d)e/, '$1.0e');
}

/** Any scalar on one line. */
export function scalarText(value: Exclude<JsonValue, object>, place: ScalarPlace): string {
  return typeof value === 'string' ? stringText(value, place) : wordText(value);
}
