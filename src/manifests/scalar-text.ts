/**
 * Renders scalars so that readers of YAML 1.1 (go-yaml, and so kubectl) and YAML 1.2 read the same
 * value. The text does not depend on its context, except for the restrictions of flow collections.
 */
import { resolvePlain } from './scalar-meaning.ts';

/** Context of a scalar: inside `{}` or `[]`, more characters end an unquoted one. */
export interface ScalarPlace {
  readonly flow: boolean;
}

/**
 * Words that some reader resolves to a boolean or null, in lower case; and YAML 1.1's `=` and `<<`.
 */
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
/** Superset of the floats of any version: a lone sign, `.`, `e5` and `1:30.5` too. */
const FLOAT =
  /^[-+]?(?:[0-9][0-9_:]*(?:\.[0-9_]*)?|\.[0-9_]*)?(?:[eE][-+]?[0-9_]+)?$|^[-+]?\.(?:inf|nan)$/i;
const TIMESTAMP = /^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}/;
/** First characters that cannot begin an unquoted scalar. */
const INDICATOR = /^[\s,[\]{}#&*!|>'"%@`?:]|^-(?:\s|$)|^(?:---|\.\.\.)/;
const ENDS_PLAIN = /:(?:\s|$)|\s#|\s$/;
/** More than YAML forbids: go-yaml ends an unquoted scalar at a `?`, older readers at a `:`. */
const ENDS_PLAIN_IN_FLOW = /[,[\]{}?:]|^-/;
/**
 * Controls, format characters (which hide or reorder text), unassigned and private characters, lone
 * surrogates and the line separators of YAML 1.1: written as escapes.
 */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/u;

/** True if every reader resolves the unquoted text to this string. */
export function isPlainSafe(text: string, { flow }: ScalarPlace): boolean {
  if (UNPRINTABLE.test(text) || INDICATOR.test(text) || ENDS_PLAIN.test(text)) return false;
  if (flow && ENDS_PLAIN_IN_FLOW.test(text)) return false;
  return !isAmbiguous(text);
}

/** True if some reader resolves the unquoted text to a boolean, null, a number or a date. */
function isAmbiguous(text: string): boolean {
  if (resolvePlain(text) !== text) return true;
  if (text.length <= 5 && WORDS.has(text.toLowerCase())) return true;
  const first = text.charCodeAt(0);
  // Digits, signs, the point, and `e` and `:`, with which a number begins for some readers.
  const mayBeNumber = (first >= 0x30 && first <= 0x3a) || '+-.eE_'.includes(text.charAt(0));
  return mayBeNumber && (INTEGER.test(text) || FLOAT.test(text) || TIMESTAMP.test(text));
}

/** True if a single-quoted scalar on one line can represent the text. */
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

/**
 * A double-quoted scalar on one line; also valid JSON if `text` has no character beyond U+FFFF that
 * needs an escape.
 */
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

/**
 * Keys that go-yaml, and so sops, writes with single quotes: the same choice keeps such lines
 * stable.
 */
const SINGLE_QUOTED = /^(?:-|---|\.\.\.)$/;

/** The more readable quoting: double quotes unless they would need escapes. */
export function quoted(text: string): string {
  if (SINGLE_QUOTED.test(text)) return singleQuoted(text);
  return /["\\]/.test(text) && isSingleQuotable(text) ? singleQuoted(text) : doubleQuoted(text);
}

/** A string on one line, unquoted if that is safe. */
export function stringText(text: string, place: ScalarPlace): string {
  return isPlainSafe(text, place) ? text : quoted(text);
}

/**
 * Numbers, booleans and null. Integers beyond 2^53 get an exponent: without one they would be read
 * as integers that a double cannot represent.
 */
export function wordText(value: number | boolean | null): string {
  if (typeof value !== 'number') return String(value);
  if (!Number.isFinite(value)) throw new TypeError('NaN and infinity are not JSON numbers');
  if (value === 0) return '0';
  const exact = Number.isInteger(value) && !Number.isSafeInteger(value);
  const text = exact ? value.toExponential() : String(value);
  // Some readers of YAML 1.1 read `1e+21` as a string, but not `1.0e+21`.
  return text.replace(/^(-?\d)e/, '$1.0e');
}
