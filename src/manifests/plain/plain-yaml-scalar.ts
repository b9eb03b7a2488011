/**
 * Scalars on one line: plain, 'single' and "double" quoted.
 * Plain scalars are only read if YAML 1.1 and 1.2 agree on them; `yes`, `017`, `1:30`, `2024-01-01`
 * and similar ones are unsupported.
 */
import {
  APOSTROPHE,
  BACKSLASH,
  COLON,
  type Cursor,
  HASH,
  isBlankCode,
  NEWLINE,
  QUOTE,
  SPACE,
  unusual,
} from './plain-yaml-cursor.ts';

type Scalar = string | number | boolean | null;

const REFUSED = 0;
const STRING = 1;
const CHECK = 2;

/** Class of a plain scalar by its first character. */
const FIRST = new Uint8Array(128);
for (let code = 0x21; code < 0x7f; code++) FIRST[code] = STRING;
for (const char of '?:,[]{}#&*!|>\'"%@`~=') FIRST[char.charCodeAt(0)] = REFUSED;
for (const char of '0123456789-+.<yYnNoOtTfFeE') FIRST[char.charCodeAt(0)] = CHECK;

/** Words that are not strings in at least one version of YAML, in lower case. */
const WORDS = new Set(['y', 'yes', 'n', 'no', 'on', 'off', 'true', 'false', 'null']);
const LONGEST_WORD = 5;

/** Up to 15 digits are exact in a double. No leading zero: it is octal in YAML 1.1. */
const DECIMAL = /^-?(?:0|[1-9]\d{0,14})$/;
const FRACTION = /^-?(?:0|[1-9]\d{0,7})\.\d{1,7}$/;
/** Superset of everything that any version reads as a number or a date. */
const NUMERIC = /^[-+]?[.\d][\d_.:eE+-]*$|^[-+]?0_*[xXoObB][\da-fA-F_]*$|^\d{4}-\d\d?-\d/;
/** `e5`, `-e5` and `.e5`, which the library's YAML 1.1 reads as floats (not a number). */
const EXPONENT = /^[-+.]?[eE][-+]?\d+$/;
/** `1.2.3` and `10.0.0.1:8443` look numeric but are text: no number has two dots. */
const DOTTED = /^\d+\.\d+\.\d+(?:\.\d+)*(?::\d+)?$/;
/** `-x` and `--flag`, but not `-1`, `-.5`, `- a` or `---`. */
const FLAG = /^--?[A-Za-z]/;
/** One base64 value in 64 begins with a `+`, some with two; `+.5` and `+.inf` are excluded. */
const PLUS_TEXT = /^\+[A-Za-z\d/+]/;
/**
 * `.git` and `./x`, but not `.5`, `.inf`, `.nan`, `...` or `._`, which YAML 1.1 reads as a float.
 */
const DOT_NAME = /^\.[A-HJ-MO-Za-hj-mo-z/]/;

/** True if the first character alone makes a plain scalar text. */
export function isPlainString(first: number, length: number): boolean {
  return FIRST[first] === STRING || (length > LONGEST_WORD && WORD_START[first] === 1);
}

const WORD_START = new Uint8Array(128);
for (const char of 'yYnNoOtTfF') WORD_START[char.charCodeAt(0)] = 1;

/** Value of a plain scalar, given without surrounding space. */
export function plainValue(source: string): Scalar {
  const code = source.charCodeAt(0);
  if (code >= 0x80) return source;
  const kind = FIRST[code];
  if (kind === STRING) return source;
  if (kind !== CHECK) return unusual();
  if (EXPONENT.test(source)) return unusual();
  if (code >= 0x41) return resolveWord(source);
  return resolveNumeric(source);
}

function resolveWord(source: string): Scalar {
  if (source.length > LONGEST_WORD) return source;
  if (source === 'true') return true;
  if (source === 'false') return false;
  if (source === 'null') return null;
  return WORDS.has(source.toLowerCase()) ? unusual() : source;
}

function resolveNumeric(source: string): Scalar {
  if (DECIMAL.test(source) || FRACTION.test(source)) {
    const value = Number(source);
    return Object.is(value, -0) ? unusual() : value;
  }
  const first = source[0];
  if (first === '-') return FLAG.test(source) ? source : unusual();
  if (first === '+' && !PLUS_TEXT.test(source)) return unusual();
  if (first === '.') return DOT_NAME.test(source) ? source : unusual();
  if (first === '<') return source === '<<' ? unusual() : source;
  return NUMERIC.test(source) && !DOTTED.test(source) ? unusual() : source;
}

/**
 * Source of the plain scalar at the cursor. Stops at the `:` that makes it a key, otherwise at the
 * end of the line or at its comment.
 */
export function scanPlain(cursor: Cursor): string {
  const { text } = cursor;
  const start = cursor.pos;
  let pos = start;
  for (; pos < text.length; pos++) {
    const code = text.charCodeAt(pos);
    if (code === NEWLINE) break;
    if (code === COLON && isBlankCode(text.charCodeAt(pos + 1))) break;
    if (code === HASH && text.charCodeAt(pos - 1) === SPACE) break;
  }
  cursor.pos = pos;
  let end = pos;
  while (text.charCodeAt(end - 1) === SPACE) end--;
  return end > start ? text.slice(start, end) : unusual();
}

/** Value of the quoted scalar at the cursor; stops after the closing quote. */
export function scanQuoted(cursor: Cursor): string {
  const code = cursor.peek();
  const source = cursor.text.slice(cursor.pos, closingQuote(cursor, code));
  cursor.pos += source.length + 1;
  const inner = source.slice(1);
  if (code === APOSTROPHE) return inner.includes("'") ? inner.replaceAll("''", "'") : inner;
  return inner.includes('\\') ? replaceEscapes(inner) : inner;
}

function closingQuote({ text, pos }: Cursor, quote: number): number {
  for (let end = pos + 1; end < text.length; end++) {
    const code = text.charCodeAt(end);
    if (code === BACKSLASH && quote === QUOTE) end++;
    else if (code === quote && quote === APOSTROPHE && text.charCodeAt(end + 1) === quote) end++;
    else if (code === quote) return end;
    else if (code === NEWLINE) break;
  }
  return unusual();
}

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  '"': '"',
  '/': '/',
  '\\': '\\',
};

function replaceEscapes(inner: string): string {
  return inner.replaceAll(/\\(.?)/g, (_, char: string) => ESCAPES[char] ?? unusual());
}
