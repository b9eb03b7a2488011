/** Cursor of the plain YAML reader, and its way to give up outside the subset. */

export const NEWLINE = 0x0a;
export const SPACE = 0x20;
export const QUOTE = 0x22;
export const HASH = 0x23;
export const APOSTROPHE = 0x27;
export const COMMA = 0x2c;
export const DASH = 0x2d;
export const COLON = 0x3a;
export const GREATER = 0x3e;
export const BRACKET = 0x5b;
export const BACKSLASH = 0x5c;
export const BRACKET_END = 0x5d;
export const BRACE = 0x7b;
export const PIPE = 0x7c;
export const BRACE_END = 0x7d;

/** Deeper documents are left to the library, which reports stack exhaustion as a problem. */
const MAX_DEPTH = 64;

/** Thrown by `unusual`; created once, since a stack trace would cost more than the parse. */
export const UNUSUAL = new Error('The text is outside the plain subset of YAML.');

/** Gives up: the caller must use the library instead. It does not mean an error in the text. */
export function unusual(): never {
  throw UNUSUAL;
}

/**
 * Walks lines of content, skipping blank lines and comment lines.
 * Invariant: between lines `pos` is at the newline that ends the previous line (or at the end of
 * the text); on a line it is at the next character to read.
 */
export class Cursor {
  readonly text: string;
  /** Starts before the text, as if a newline were there. */
  pos = -1;
  /** Column of the first character of the line, from 0; -1 at `---` and at the end of the text. */
  column = -1;
  #depth = 0;

  constructor(text: string) {
    this.text = text;
  }

  /** True after the last line; if `column` is -1 and this is false, there is a `---`. */
  get atEnd(): boolean {
    return this.pos >= this.text.length;
  }

  /** Character code at `pos` (+ `ahead`), NaN after the end. */
  peek(ahead = 0): number {
    return this.text.charCodeAt(this.pos + ahead);
  }

  isBlank(ahead: number): boolean {
    return isBlankCode(this.text.charCodeAt(this.pos + ahead));
  }

  skipSpaces(): void {
    while (this.text.charCodeAt(this.pos) === SPACE) this.pos++;
  }

  /** Skips trailing spaces and a comment. Any other text on the line is unsupported. */
  finishLine(): void {
    this.skipSpaces();
    const code = this.peek();
    if (code === HASH && this.peek(-1) === SPACE) this.pos = lineEnd(this.text, this.pos);
    else if (code !== NEWLINE && !this.atEnd) unusual();
  }

  /** Like `finishLine`, but returns false at other text, and stops there. */
  lineEnds(): boolean {
    this.skipSpaces();
    const code = this.peek();
    if (code === HASH) this.finishLine();
    return code === HASH || code === NEWLINE || this.atEnd;
  }

  /** Goes to the next line with content. */
  nextLine(): void {
    const { text } = this;
    let pos = this.pos;
    while (pos < text.length) {
      const start = pos + 1;
      pos = start;
      let code = text.charCodeAt(pos);
      while (code === SPACE) code = text.charCodeAt(++pos);
      if (code === HASH) pos = lineEnd(text, pos);
      else if (code !== NEWLINE && pos < text.length) {
        this.pos = pos;
        this.column = pos === start && this.#isDocumentStart() ? -1 : pos - start;
        return;
      }
    }
    this.pos = text.length;
    this.column = -1;
  }

  enter(): void {
    this.#depth++;
    if (this.#depth > MAX_DEPTH) unusual();
  }

  leave(): void {
    this.#depth--;
  }

  #isDocumentStart(): boolean {
    return (
      this.peek() === DASH && this.peek(1) === DASH && this.peek(2) === DASH && this.isBlank(3)
    );
  }
}

/** Offset of the newline that ends the line of `from`, or the length of the text. */
export function lineEnd(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end === -1 ? text.length : end;
}

/** A space, a newline or (NaN) the end of the text. */
export function isBlankCode(code: number): boolean {
  return code === SPACE || code === NEWLINE || Number.isNaN(code);
}
