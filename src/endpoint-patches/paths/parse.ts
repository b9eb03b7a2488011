/**
 * The text of a path → its segments. Dots separate, brackets hold one segment each, quotes make
 * dots, brackets and asterisks ordinary; empty segments between dots are ignored, as users of the
 * format know it. A double quote counts anywhere, a single one where a segment begins.
 */
import { type Path, PathSyntaxError, type Segment } from './path.ts';

/** Throws PathSyntaxError. */
export function parsePath(text: string): Path {
  const parser = new Parser(text);
  return parser.parse();
}

class Parser {
  readonly #text: string;
  readonly #segments: Segment[] = [];
  #segment = '';
  /** A quoted segment is not a wildcard, and may be empty between dots. */
  #quoted = false;
  #bracketAt: number | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  parse(): Path {
    const text = this.#text;
    const end = text.trimEnd().length;
    let at = text.length - text.trimStart().length;
    while (at < end) at = this.#step(at, end);
    if (this.#bracketAt !== undefined) this.#fail('unclosed bracket in path', this.#bracketAt);
    this.#endSegment();
    return this.#segments;
  }

  /** Reads what stands at `at`; returns where to read on. */
  #step(at: number, end: number): number {
    const char = this.#text[at] ?? '';
    if (this.#opensQuote(char)) return this.#quotedPart(at, end);
    if (char === '[') this.#openBracket(at);
    else if (char === ']') this.#closeBracket(at);
    else if (char === '.' && this.#bracketAt === undefined) this.#endSegment();
    else this.#segment += char;
    return at + 1;
  }

  #opensQuote(char: string): boolean {
    return char === '"' || (char === "'" && this.#segment === '' && !this.#quoted);
  }

  #quotedPart(at: number, end: number): number {
    const close = this.#text.indexOf(this.#text[at] ?? '', at + 1);
    if (close < 0 || close >= end) this.#fail('unclosed quote in path', at);
    this.#segment += this.#text.slice(at + 1, close);
    this.#quoted = true;
    return close + 1;
  }

  #openBracket(at: number): void {
    if (this.#bracketAt !== undefined) {
      this.#fail(`unexpected bracket in bracket in ${this.#text} at ${at}`, at);
    }
    this.#endSegment();
    this.#bracketAt = at;
  }

  #closeBracket(at: number): void {
    if (this.#bracketAt === undefined) {
      this.#fail(`unexpected bracket close in bracket in ${this.#text} at ${at}`, at);
    }
    if (this.#segment === '') this.#fail(`unexpected empty segment in ${this.#text} at ${at}`, at);
    this.#endSegment();
    this.#bracketAt = undefined;
  }

  #endSegment(): void {
    if (this.#segment !== '') {
      const wildcard = this.#segment === '*' && !this.#quoted;
      this.#segments.push(wildcard ? { wildcard } : { key: this.#segment });
    }
    this.#segment = '';
    this.#quoted = false;
  }

  #fail(message: string, offset: number): never {
    throw new PathSyntaxError(message, offset);
  }
}
