/**
 * Types of unquoted scalars, by the rules of go-yaml v2 as shipped by sigs.k8s.io/yaml, so that a
 * manifest means the same to `git push` as to `kubectl apply`: `yes`, `no`, `on`, `off`, `y` and
 * `n` are booleans, `0644` is octal, `1_000` is 1000, base 60 does not exist, and timestamps are
 * strings.
 */

type PlainValue = string | number | boolean | null | undefined;

const WORDS: ReadonlyMap<string, boolean | null | undefined> = new Map([
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'].map(
    (word) => [word, true] as const,
  ),
  ...['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'].map(
    (word) => [word, false] as const,
  ),
  ...['', '~', 'null', 'Null', 'NULL'].map((word) => [word, null] as const),
  ...['.nan', '.NaN', '.NAN', '.inf', '.Inf', '.INF', '+.inf', '+.Inf', '+.INF'].map(
    (word) => [word, undefined] as const,
  ),
  ...['-.inf', '-.Inf', '-.INF'].map((word) => [word, undefined] as const),
]);

const LONGEST_WORD = 5;
const INTEGER = /^[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)$/;
const LOOSE_UNDERSCORE = /(?<![0-9])_|_(?![0-9])/;
const FLOAT = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;

/**
 * Value of an unquoted scalar. Undefined for a number that JSON does not have (`.nan`, `.inf`) and
 * for an integer that a double cannot represent exactly.
 */
export function resolvePlain(source: string): PlainValue {
  if (source.length <= LONGEST_WORD && WORDS.has(source)) return WORDS.get(source);
  const first = source.charCodeAt(0);
  const digit = first >= 0x30 && first <= 0x39;
  if (!digit && first !== 0x2b && first !== 0x2d && first !== 0x2e) return source;
  // After a leading point, underscores count only between digits.
  if (first === 0x2e && LOOSE_UNDERSCORE.test(source)) return source;
  const plain = source.replaceAll('_', '');
  if (INTEGER.test(plain)) return integer(plain);
  if (!FLOAT.test(plain)) return source;
  const value = Number(plain);
  return Number.isFinite(value) ? value : source;
}

function integer(plain: string): number | undefined {
  const negative = plain.startsWith('-');
  const digits = negative || plain.startsWith('+') ? plain.slice(1) : plain;
  const value = magnitude(digits);
  if (!Number.isSafeInteger(value)) return undefined;
  return negative && value !== 0 ? -value : value;
}

function magnitude(digits: string): number {
  if (!digits.startsWith('0') || digits.length === 1) return Number(digits);
  return /^0[xXbBoO]/.test(digits) ? Number(digits) : Number.parseInt(digits, 8);
}
