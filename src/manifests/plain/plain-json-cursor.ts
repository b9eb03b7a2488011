import { type KnownKey, KnownKeys } from './known-keys.ts';
import {
  APOSTROPHE,
  BACKSLASH,
  COLON,
  DASH,
  HASH,
  NEWLINE,
  QUOTE,
  SPACE,
  unusual,
} from './plain-yaml-cursor.ts';
import { isPlainString, plainValue } from './plain-yaml-scalar.ts';

/** Classes of bytes for the reader of plain-json.ts. */

/** Follows the text; the texts read here never contain it. */
const END = 0;

/** Class of a byte within a scalar: ordinary, outside the subset, or needing a check. */
const ORDINARY = 0;

const ODD = 1;

const MARK = 2;

const CLASS = new Uint8Array(256).fill(ODD, 0, 0x20).fill(ODD, 0x7f);

for (const char of '\n:#"\'\\') CLASS[char.charCodeAt(0)] = MARK;

/** Bytes of a plain scalar in a flow list. */
const IN_WORD = new Uint8Array(256);

for (let code = 0; code < 128; code++) {
  if (/[\w./+=$();-]/.test(String.fromCharCode(code))) IN_WORD[code] = 1;
}

/** Larger manifests are not worth a second reader. */
export const LARGEST = 64 * 1024;

const HASH_BITS = 0xffffff;

export class JsonCursor {
  /** Of the first character of the line, from 0; -1 at the end of the text. */
  column = 0;
  hasNull = false;
  readonly #keys = new KnownKeys();
  /** The text, followed by a zero byte, so that no step needs a bounds check. */
  readonly #text = Buffer.allocUnsafeSlow(LARGEST + 1);
  /** Worst growth: a one-letter key without a value, `a:` and its newline. */
  readonly #out = Buffer.allocUnsafeSlow(LARGEST * 4);
  #pos = 0;
  #end = 0;

  /** `text` has at most `LARGEST` bytes. */
  begin(text: Buffer): void {
    this.#keys.tidy();
    text.copy(this.#text);
    this.#text[text.length] = END;
    this.#pos = 0;
    this.#end = 0;
    this.column = 0;
    this.hasNull = false;
  }

  get pos(): number {
    return this.#pos;
  }

  get code(): number {
    return byteAt(this.#text, this.#pos);
  }

  get written(): string {
    return this.#out.toString('latin1', 0, this.#end);
  }

  skip(bytes: number): void {
    this.#pos += bytes;
  }

  /** Offsets in input and output, for `back`. */
  mark(): readonly [pos: number, end: number] {
    return [this.#pos, this.#end];
  }

  back([pos, end]: readonly [pos: number, end: number]): void {
    this.#pos = pos;
    this.#end = end;
  }

  put(code: number): void {
    this.#out[this.#end++] = code;
  }

  putNull(): void {
    this.hasNull = true;
    this.#end += this.#out.write('null', this.#end, 'latin1');
  }

  putKey({ bytes }: KnownKey): void {
    const out = this.#out;
    let end = this.#end;
    out[end++] = QUOTE;
    for (const byte of bytes) out[end++] = byte;
    out[end++] = QUOTE;
    out[end++] = COLON;
    this.#end = end;
  }

  /** Skips comments and one `---`; returns the number of the first line of content. */
  start(): number {
    let marked = false;
    for (let line = 1; ; line++) {
      const { code } = this;
      if (code === HASH) this.#comment();
      else if (code === DASH && this.#isMark()) {
        if (marked) unusual();
        marked = true;
        this.#pos += 3;
      } else if (code === SPACE) unusual();
      else if (code !== NEWLINE) return line;
      if (this.code !== NEWLINE) unusual();
      this.#pos++;
    }
  }

  #isMark(): boolean {
    return this.#text[this.#pos + 1] === DASH && this.#text[this.#pos + 2] === DASH;
  }

  /** Skips to the end of the line, from the `#`. */
  #comment(): void {
    const text = this.#text;
    let pos = this.#pos;
    let code = byteAt(text, pos);
    while (CLASS[code] !== ODD && code !== NEWLINE) code = byteAt(text, ++pos);
    if (code !== NEWLINE && code !== END) unusual();
    this.#pos = pos;
  }

  /** From the end of a value to the next line with content. */
  nextLine(): void {
    const text = this.#text;
    let pos = this.#pos;
    let start = -1;
    let code = byteAt(text, pos);
    for (; code === SPACE || code === NEWLINE || code === HASH; code = byteAt(text, pos)) {
      if (code === HASH) {
        if (pos !== start && text[pos - 1] !== SPACE) unusual();
        this.#pos = pos;
        this.#comment();
        pos = this.#pos;
      } else {
        pos++;
        if (code === NEWLINE) start = pos;
      }
    }
    if (code !== END && start < 0) unusual();
    this.#pos = pos;
    this.column = code === END ? -1 : pos - start;
  }

  /** True at the `-` of a list item. */
  get atItem(): boolean {
    return this.code === DASH && this.#isBlank(this.#pos + 1);
  }

  #isBlank(at: number): boolean {
    const code = this.#text[at];
    return code === SPACE || code === NEWLINE || code === END;
  }

  skipSpaces(): void {
    while (this.#text[this.#pos] === SPACE) this.#pos++;
  }

  /** True if only a comment follows on the line. Skips spaces. */
  endsLine(): boolean {
    this.skipSpaces();
    const { code } = this;
    if (code === HASH) return this.#text[this.#pos - 1] === SPACE;
    return code === NEWLINE || code === END;
  }

  /** Reads the key at the cursor, and stops at its `:`. */
  key(): KnownKey {
    const text = this.#text;
    const quote = this.code;
    const isQuoted = quote === QUOTE || quote === APOSTROPHE;
    const start = isQuoted ? this.#pos + 1 : this.#pos;
    let hash = 0;
    let pos = start;
    for (; ; pos++) {
      const code = byteAt(text, pos);
      if (CLASS[code] !== ORDINARY) {
        if (isQuoted ? endsQuoted(code, quote) : this.#endsKey(code, pos)) break;
      }
      hash = (Math.imul(hash, 31) + code) & HASH_BITS;
    }
    const end = pos;
    if (isQuoted) pos++;
    if (text[pos] !== COLON || !this.#isBlank(pos + 1) || text[pos - 1] === SPACE) return unusual();
    this.#pos = pos;
    return this.#keys.find({ text, start, end, hash }) ?? unusual();
  }

  #endsKey(code: number, pos: number): boolean {
    if (code === COLON) return this.#isBlank(pos + 1);
    if (code === HASH && this.#text[pos - 1] === SPACE) return unusual();
    return code === NEWLINE || CLASS[code] === ODD ? unusual() : false;
  }

  /** Writes the plain scalar at the cursor and stops at its end, or at the `:` after it. */
  plain(): void {
    const text = this.#text;
    const out = this.#out;
    const start = this.#pos;
    const before = this.#end;
    let pos = start;
    let end = before;
    out[end++] = QUOTE;
    for (; ; pos++) {
      const code = byteAt(text, pos);
      if (CLASS[code] !== ORDINARY) {
        if (this.#endsPlain(code, pos)) break;
        if (isEscaped(code)) out[end++] = BACKSLASH;
      }
      out[end++] = code;
    }
    this.#pos = pos;
    while (pos > start && text[pos - 1] === SPACE) {
      pos--;
      end--;
    }
    if (pos === start) unusual();
    out[end++] = QUOTE;
    this.#end = end;
    if (!isPlainString(byteAt(text, start), pos - start)) this.#judge([start, pos], before);
  }

  #endsPlain(code: number, pos: number): boolean {
    if (code === COLON) return this.#isBlank(pos + 1);
    if (code === HASH) return this.#text[pos - 1] === SPACE;
    if (code === NEWLINE || code === END) return true;
    return CLASS[code] === ODD ? unusual() : false;
  }

  /** Replaces the output at `before` if the scalar is not text. */
  #judge([start, end]: readonly [number, number], before: number): void {
    const value = plainValue(this.#text.toString('latin1', start, end));
    if (typeof value === 'string') return;
    this.#end = before;
    if (value === null) this.putNull();
    else this.#end += this.#out.write(String(value), before, 'latin1');
  }

  /** Writes the quoted scalar at the cursor and stops after it. No escapes. */
  quoted(): void {
    const text = this.#text;
    const out = this.#out;
    const quote = this.code;
    let pos = this.#pos + 1;
    let end = this.#end;
    out[end++] = QUOTE;
    for (; ; pos++) {
      const code = byteAt(text, pos);
      if (CLASS[code] !== ORDINARY) {
        if (endsQuoted(code, quote)) {
          // Two quotes represent one.
          if (quote === QUOTE || text[pos + 1] !== APOSTROPHE) break;
          pos++;
        }
        if (code === BACKSLASH && quote === QUOTE) unusual();
        if (isEscaped(code)) out[end++] = BACKSLASH;
      }
      out[end++] = code;
    }
    out[end++] = QUOTE;
    this.#end = end;
    this.#pos = pos + 1;
  }

  /** The same for a plain scalar in a flow list. */
  word(): void {
    const text = this.#text;
    const out = this.#out;
    const start = this.#pos;
    const before = this.#end;
    let pos = start;
    let end = before;
    out[end++] = QUOTE;
    while (IN_WORD[byteAt(text, pos)] === 1) out[end++] = byteAt(text, pos++);
    if (pos === start) unusual();
    out[end++] = QUOTE;
    this.#pos = pos;
    this.#end = end;
    if (!isPlainString(byteAt(text, start), pos - start)) this.#judge([start, pos], before);
  }
}

/** The text ends with `END`, so that every offset in use has a byte. */
function byteAt(text: Buffer, at: number): number {
  return text[at] ?? END;
}

/** True if JSON needs a backslash. */
function isEscaped(code: number): boolean {
  return code === QUOTE || code === BACKSLASH;
}

function endsQuoted(code: number, quote: number): boolean {
  if (code === quote) return true;
  return code === NEWLINE || CLASS[code] === ODD ? unusual() : false;
}
