/** Bech32 (BIP 173), the writing of age keys: a name, `1`, the bytes in five bits a letter, a checksum. */

const LETTERS = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
const CHECKSUM_LETTERS = 6;
/** Of BIP 173: beyond it the checksum no longer finds every mistake. */
const LONGEST = 90;
const GENERATOR = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3];

/** In small letters. */
export function encodeBech32(name: string, bytes: Uint8Array): string {
  const words = regroup(bytes, 8, 5, true) ?? [];
  const sum = checksum([...spread(name), ...words, 0, 0, 0, 0, 0, 0]) ^ 1;
  for (let i = CHECKSUM_LETTERS - 1; i >= 0; i--) words.push((sum >>> (5 * i)) & 31);
  return `${name}1${words.map((word) => LETTERS[word]).join('')}`;
}

/** Undefined where the text is no Bech32. The name comes in small letters. */
export function decodeBech32(text: string): { name: string; bytes: Buffer } | undefined {
  const lower = text.toLowerCase();
  const isMixed = text !== lower && text !== text.toUpperCase();
  const end = lower.lastIndexOf('1');
  if (isMixed || text.length > LONGEST || end < 1) return undefined;
  const name = lower.slice(0, end);
  const words = [...lower.slice(end + 1)].map((letter) => LETTERS.indexOf(letter));
  if (words.length < CHECKSUM_LETTERS || words.includes(-1)) return undefined;
  if (checksum([...spread(name), ...words]) !== 1) return undefined;
  const bytes = regroup(words.slice(0, -CHECKSUM_LETTERS), 5, 8, false);
  return bytes && { name, bytes: Buffer.from(bytes) };
}

function spread(name: string): number[] {
  const codes = [...Buffer.from(name, 'latin1')];
  return [...codes.map((code) => code >> 5), 0, ...codes.map((code) => code & 31)];
}

function checksum(words: readonly number[]): number {
  let sum = 1;
  for (const word of words) {
    const top = sum >>> 25;
    sum = ((sum & 0x1ffffff) << 5) ^ word;
    for (const [i, value] of GENERATOR.entries()) if ((top >>> i) & 1) sum ^= value;
  }
  return sum >>> 0;
}

/** Undefined where bits are left that should be nothing but padding. */
function regroup(
  values: Iterable<number>,
  from: number,
  to: number,
  isPadded: boolean,
): number[] | undefined {
  const groups: number[] = [];
  let kept = 0;
  let bits = 0;
  for (const value of values) {
    kept = ((kept << from) | value) & 0xfff;
    bits += from;
    for (; bits >= to; bits -= to) groups.push((kept >>> (bits - to)) & ((1 << to) - 1));
  }
  const rest = (kept << (to - bits)) & ((1 << to) - 1);
  if (isPadded && bits > 0) groups.push(rest);
  return isPadded || (bits < from && rest === 0) ? groups : undefined;
}
