/**
 * Converts the bytes of a manifest directly to JSON, for nearly all manifests: one ASCII document
 * of block maps and lists, scalars on one line and flow lists of plain words. Any other input is
 * left to the other fast reader (plain-yaml.ts). Both agree exactly: the text equals
 * `JSON.stringify` of the other's value. A test verifies that.
 */
import type { KnownKey } from './known-keys.ts';
import { JsonCursor, LARGEST } from './plain-json-cursor.ts';
import {
  APOSTROPHE,
  BRACE,
  BRACE_END,
  BRACKET,
  BRACKET_END,
  COLON,
  COMMA,
  GREATER,
  PIPE,
  QUOTE,
  UNUSUAL,
  unusual,
} from './plain-yaml-cursor.ts';

export interface PlainJson {
  readonly json: string;
  /** Of the first content, from 1. */
  readonly line: number;
  /** True if any value is null. */
  readonly hasNull: boolean;
}

/** Undefined: the other reader has to decide. */
export function plainJson(content: Buffer): PlainJson | undefined {
  if (content.length > LARGEST) return undefined;
  try {
    return reading.read(content);
  } catch (error) {
    if (error === UNUSUAL) return undefined;
    throw error;
  }
}

/** Limit for all open maps together. */
const MAX_KEYS = 256;
const MAX_DEPTH = 32;

class PlainReading {
  readonly #cursor = new JsonCursor();
  #depth = 0;
  /** Keys of the open maps, innermost last. */
  readonly #open: (KnownKey | undefined)[] = new Array(MAX_KEYS);
  #opened = 0;

  read(text: Buffer): PlainJson {
    const cursor = this.#cursor;
    cursor.begin(text);
    this.#depth = 0;
    this.#opened = 0;
    const line = cursor.start();
    this.#map(0);
    // The supposed end may be a zero byte in the text.
    if (cursor.column !== -1 || cursor.pos !== text.length) return unusual();
    return { json: cursor.written, line, hasNull: cursor.hasNull };
  }

  /** The map whose first key is at the cursor, with its keys at `column`. */
  #map(column: number): void {
    this.#enter();
    const cursor = this.#cursor;
    const base = this.#opened;
    cursor.put(BRACE);
    do {
      const key = cursor.key();
      if (this.#opened > base) cursor.put(COMMA);
      this.#note(key, base);
      cursor.putKey(key);
      this.#mapValue(column);
    } while (cursor.column === column);
    if (cursor.column > column) unusual();
    cursor.put(BRACE_END);
    this.#opened = base;
    this.#depth--;
  }

  #enter(): void {
    if (++this.#depth > MAX_DEPTH) unusual();
  }

  #note(key: KnownKey, base: number): void {
    const open = this.#open;
    for (let i = base; i < this.#opened; i++) if (open[i] === key) unusual();
    if (this.#opened >= MAX_KEYS) unusual();
    open[this.#opened++] = key;
  }

  /** The value after the `:` at the cursor. Stops on the next line with content. */
  #mapValue(column: number): void {
    const cursor = this.#cursor;
    cursor.skip(1);
    if (!cursor.endsLine()) {
      this.#inline();
      return;
    }
    cursor.nextLine();
    if (cursor.column > column) this.#block();
    else if (cursor.column === column && cursor.atItem) this.#list(column);
    else cursor.putNull();
  }

  #block(): void {
    const { atItem, column } = this.#cursor;
    if (atItem) this.#list(column);
    else this.#map(column);
  }

  #list(column: number): void {
    this.#enter();
    const cursor = this.#cursor;
    cursor.put(BRACKET);
    this.#item(column);
    while (cursor.column === column && cursor.atItem) {
      cursor.put(COMMA);
      this.#item(column);
    }
    if (cursor.column > column) unusual();
    cursor.put(BRACKET_END);
    this.#depth--;
  }

  /** The same after the `-`. */
  #item(column: number): void {
    const cursor = this.#cursor;
    const dash = cursor.pos;
    cursor.skip(1);
    if (cursor.endsLine()) {
      cursor.nextLine();
      if (cursor.column > column) this.#block();
      else cursor.putNull();
      return;
    }
    if (cursor.atItem) unusual();
    if (isOpening(cursor.code)) {
      this.#inline();
      return;
    }
    const inner = column + cursor.pos - dash;
    const before = cursor.mark();
    cursor.plain();
    if (cursor.code !== COLON) {
      cursor.nextLine();
      return;
    }
    // It was a key.
    cursor.back(before);
    this.#map(inner);
  }

  /** A value on the line of its key or dash. */
  #inline(): void {
    const cursor = this.#cursor;
    const { code } = cursor;
    if (code === QUOTE || code === APOSTROPHE) cursor.quoted();
    else if (code === BRACKET) this.#flowList();
    else if (code === BRACE) this.#emptyMap();
    else if (code === PIPE || code === GREATER) unusual();
    else {
      cursor.plain();
      if (cursor.code === COLON) unusual();
    }
    cursor.nextLine();
  }

  /** `[]`, `[get]`, `["a b", c]`. */
  #flowList(): void {
    const cursor = this.#cursor;
    cursor.put(BRACKET);
    cursor.skip(1);
    cursor.skipSpaces();
    if (cursor.code !== BRACKET_END) this.#flowItem();
    while (cursor.code === COMMA) {
      cursor.put(COMMA);
      cursor.skip(1);
      cursor.skipSpaces();
      this.#flowItem();
    }
    if (cursor.code !== BRACKET_END) unusual();
    cursor.skip(1);
    cursor.put(BRACKET_END);
  }

  #flowItem(): void {
    const cursor = this.#cursor;
    if (cursor.code === QUOTE || cursor.code === APOSTROPHE) cursor.quoted();
    else cursor.word();
    cursor.skipSpaces();
  }

  #emptyMap(): void {
    const cursor = this.#cursor;
    cursor.skip(1);
    cursor.skipSpaces();
    if (cursor.code !== BRACE_END) unusual();
    cursor.skip(1);
    cursor.put(BRACE);
    cursor.put(BRACE_END);
  }
}

/** True if the character begins a value other than a plain scalar. */
function isOpening(code: number): boolean {
  return code === QUOTE || code === APOSTROPHE || code === BRACKET || code === BRACE;
}

const reading = new PlainReading();
