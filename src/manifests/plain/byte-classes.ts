/** Classes of bytes for the reader of plain-json.ts. */

/** Follows the text; the texts read here never contain it. */
export const END = 0;

/** Class of a byte within a scalar: ordinary, outside the subset, or needing a check. */
export const ORDINARY = 0;
export const ODD = 1;
const MARK = 2;
export const CLASS = new Uint8Array(256).fill(ODD, 0, 0x20).fill(ODD, 0x7f);
for (const char of '\n:#"\'\\') CLASS[char.charCodeAt(0)] = MARK;

/** Bytes of a plain scalar in a flow list. */
export const IN_WORD = new Uint8Array(256);
for (let code = 0; code < 128; code++) {
  if (/[\w./+=$();-]/.test(String.fromCharCode(code))) IN_WORD[code] = 1;
}
