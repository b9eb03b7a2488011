/** What bytes are to the reader of plain-json.ts. */

/** Behind the text; no text has it that is read here. */
export const END = 0;

/** What a byte is to the inside of a scalar: nothing, no part of this subset, or to be looked at. */
export const ORDINARY = 0;
export const ODD = 1;
const MARK = 2;
export const CLASS = new Uint8Array(256).fill(ODD, 0, 0x20).fill(ODD, 0x7f);
for (const char of '\n:#"\'\\') CLASS[char.charCodeAt(0)] = MARK;

/** What a plain scalar in a flow list may be here. */
export const IN_WORD = new Uint8Array(256);
for (let code = 0; code < 128; code++) {
  if (/[\w./+=$();-]/.test(String.fromCharCode(code))) IN_WORD[code] = 1;
}
