/**
 * JSON texts of requests (RFC 8259). `JSON.parse` makes the value; a scanner beside it reports what
 * `JSON.parse` cannot: keys that occur twice, with their paths, and where a syntax error is. No
 * message holds any of the text, since that may be a secret.
 */
import { badRequest, MOST_PROBLEMS } from '../../apimachinery/index.ts';

export interface DecodedText {
  readonly value: unknown;
  /**
   * One sentence for each key that occurs again in the same map; the last one counts. Sentences that no answer
   * shows are the same: a path can be as long as the body.
   */
  readonly duplicates: string[];
}

/** Throws 400 for invalid JSON (with line and column), for deep nesting and for `__proto__`. */
export function decodeJson(text: string, maxDepth: number): DecodedText {
  let value: unknown;
  // First: `JSON.parse` takes 0.3 s for a megabyte of brackets, and `JSON.stringify` recurses.
  let refused = isDeeper(text, maxDepth);
  try {
    if (!refused) value = JSON.parse(text);
  } catch {
    refused = true;
  }
  const mayNeedScan = SURROGATE_ESCAPE.test(text) || LONG_INTEGER.test(text);
  if (!refused && !mayNeedScan && isPlain(text, value)) return { value, duplicates: [] };
  const duplicates = new Scanner(text, maxDepth).scan();
  if (refused) throw badRequest('the body is not valid JSON');
  return { value, duplicates };
}

/** True if more than `most` brackets are open at some place. Syntax errors are for others to find. */
function isDeeper(text: string, most: number): boolean {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) isInString = !isInString;
    else if (isInString) at += Number(code === BACKSLASH);
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--;
    if (depth > most) return true;
  }
  return false;
}

/** Digits that a double may not hold: an integer from 10^15 on. In quotes they are text. */
const LONG_INTEGER = /[:,[\s-]\d{16}/;

/** A body is UTF-8, which has no surrogates: an escape is the only way to write one. */
const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/;

/**
 * True if the scanner would report nothing. A cheap test that holds for most clients: a text that
 * equals the serialization of its value has no duplicate key.
 */
function isPlain(text: string, value: unknown): boolean {
  const written = text.endsWith('\n') ? text.slice(0, -1) : text;
  return !written.includes('__proto__') && JSON.stringify(value) === written;
}

const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

const SPACE = /[ \t\n\r]*/y;
/** Everything but quotes, backslashes and control characters. */
const PLAIN_CHARACTERS = /[\x20\x21\x23-\x5b\x5d-\uffff]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/y;
const INTEGER = /^-?\d+$/;
const WORD = /true|false|null/y;

class Scanner {
  readonly #text: string;
  readonly #maxDepth: number;
  readonly #path: (string | number)[] = [];
  readonly #duplicates: string[] = [];
  #at = 0;

  constructor(text: string, maxDepth: number) {
    this.#text = text;
    this.#maxDepth = maxDepth;
  }

  scan(): string[] {
    this.#value();
    this.#skip(SPACE);
    if (this.#at < this.#text.length) this.#fail('expected the end of the text');
    return this.#duplicates;
  }

  /** Leaves the position behind the value. */
  #value(): void {
    this.#skip(SPACE);
    switch (this.#text[this.#at]) {
      case '{':
        this.#object();
        return;
      case '[':
        this.#array();
        return;
      case '"':
        this.#string();
        return;
      default:
        if (this.#number() || this.#skip(WORD)) return;
        this.#fail(this.#at < this.#text.length ? 'expected a value' : 'the text ends too early');
    }
  }

  /** Integers beyond 2^53 are refused, as in YAML: nothing here would keep them exactly. */
  #number(): boolean {
    const start = this.#at;
    if (!this.#skip(NUMBER)) return false;
    const digits = this.#text.slice(start, this.#at);
    if (!INTEGER.test(digits) || Number.isSafeInteger(Number(digits))) return true;
    this.#at = start;
    this.#refuse('this integer is too large to be kept exactly; quote it to keep it as text');
  }

  #object(): void {
    this.#open();
    const keys = new Set<string>();
    const depth = this.#path.length;
    if (!this.#accept('}')) {
      do {
        this.#skip(SPACE);
        const key = this.#key();
        this.#path[depth] = key;
        if (keys.has(key)) this.#duplicates.push(this.#duplicateField());
        keys.add(key);
        if (!this.#accept(':')) this.#fail("expected ':' behind the key");
        this.#value();
      } while (this.#accept(','));
      if (!this.#accept('}')) this.#fail("expected ',' or '}' behind the value");
    }
    this.#path.length = depth;
  }

  #duplicateField(): string {
    const isShown = this.#duplicates.length < MOST_PROBLEMS;
    return isShown ? `duplicate field ${quotePath(this.#path)}` : 'duplicate field';
  }

  #array(): void {
    this.#open();
    const depth = this.#path.length;
    if (!this.#accept(']')) {
      let index = 0;
      do {
        this.#path[depth] = index++;
        this.#value();
      } while (this.#accept(','));
      if (!this.#accept(']')) this.#fail("expected ',' or ']' behind the value");
    }
    this.#path.length = depth;
  }

  #open(): void {
    if (this.#path.length >= this.#maxDepth) {
      this.#fail(`nested more than ${this.#maxDepth} levels deep`);
    }
    this.#at++;
  }

  #key(): string {
    if (this.#text[this.#at] !== '"') this.#fail('expected a key in double quotes');
    const start = this.#at;
    const escaped = this.#string();
    const raw = this.#text.slice(start, this.#at);
    const key: string = escaped ? JSON.parse(raw) : raw.slice(1, -1);
    if (key === '__proto__') this.#fail('the key "__proto__" is not allowed');
    return key;
  }

  /** True if the string has escapes. */
  #string(): boolean {
    const start = this.#at;
    let escaped = false;
    this.#at++;
    for (;;) {
      this.#skip(PLAIN_CHARACTERS);
      const next = this.#text[this.#at];
      if (next === '"') break;
      if (next === undefined) this.#fail('the string has no end');
      if (next !== '\\') this.#fail('a string cannot hold a control character');
      if (!this.#skip(ESCAPE)) this.#fail('unknown escape sequence');
      escaped = true;
    }
    this.#at++;
    if (escaped) this.#refuseLoneSurrogate(start);
    return escaped;
  }

  /** Git and other YAML readers hold UTF-8, which has no half of a surrogate pair (RFC 3629, section 3). */
  #refuseLoneSurrogate(start: number): void {
    const raw = this.#text.slice(start, this.#at);
    if (!SURROGATE_ESCAPE.test(raw)) return;
    const text: string = JSON.parse(raw);
    if (text.isWellFormed()) return;
    this.#at = start;
    this.#fail('the string holds one half of a surrogate pair; write the whole character');
  }

  #accept(character: string): boolean {
    this.#skip(SPACE);
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  /** True if the pattern matched at the position. */
  #skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    if (!pattern.test(this.#text)) return false;
    const moved = pattern.lastIndex > this.#at;
    this.#at = pattern.lastIndex;
    return moved;
  }

  #fail(why: string): never {
    this.#refuse(why, 'the body is not valid JSON');
  }

  #refuse(why: string, what = 'the body cannot be taken'): never {
    const before = this.#text.slice(0, this.#at).split('\n');
    const col = (before.at(-1) ?? '').length + 1;
    throw badRequest(`${what}: ${before.length}:${col}: ${why}`);
  }
}

const LONGEST_STEP = 200;

/** `"spec.list[0].a"`, as sigs.k8s.io/json names a place. */
function quotePath(path: readonly (string | number)[]): string {
  const text = path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${shortened(step)}`))
    .join('');
  return JSON.stringify(text.replace(/^\./, ''));
}

function shortened(step: string): string {
  return step.length > LONGEST_STEP ? `${step.slice(0, LONGEST_STEP)}…` : step;
}
