/**
 * Fast reader for the usual YAML of manifests: block maps and lists, scalars on one line, block
 * scalars, small flow collections, comments and several documents.
 * The reference is the `yaml` library with the rules of parse.ts. This reader either returns
 * exactly the same values or gives up. It reports no problems, and reads only text with the same
 * meaning in every version of YAML. Differential fuzzing in its test verifies that.
 */

import type { JsonObject, JsonValue } from '../../apimachinery/index.ts';
import { scanBlockScalar } from './plain-yaml-block-scalar.ts';
import {
  APOSTROPHE,
  BRACE,
  BRACKET,
  COLON,
  Cursor,
  DASH,
  GREATER,
  PIPE,
  QUOTE,
  SPACE,
  UNUSUAL,
  unusual,
} from './plain-yaml-cursor.ts';
import { scanFlow } from './plain-yaml-flow.ts';
import { plainValue, scanPlain, scanQuoted } from './plain-yaml-scalar.ts';

export interface PlainDocument {
  /** Index among all documents of the stream, including empty ones, from 0. */
  readonly index: number;
  /** A map or list of plain JSON. */
  readonly value: JsonValue;
}

/**
 * Tabs, carriage returns, a byte order mark, other control characters, the line separators of YAML
 * 1.1 and surrogates. The reader relies on their absence.
 */
const ODD = /[^\n -~\u00a0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]/;

/** The library refuses an implicit key of more than 1024 characters of source: escapes take two. */
const MAX_KEY = 500;

/** More are left to the library's reader, which has its own limit. */
const MAX_DOCUMENTS = 1_000;

/**
 * The nonempty documents of a text, in order; undefined if the text has anything outside the plain
 * subset, valid or not: the library has to read it then.
 */
export function parsePlainYaml(text: string): PlainDocument[] | undefined {
  if (ODD.test(text)) return undefined;
  try {
    return readStream(new Cursor(text));
  } catch (error) {
    if (error === UNUSUAL) return undefined;
    throw error;
  }
}

function readStream(cursor: Cursor): PlainDocument[] {
  const documents: PlainDocument[] = [];
  cursor.nextLine();
  let index = cursor.column >= 0 ? 0 : -1;
  for (;;) {
    if (cursor.column >= 0) documents.push({ index, value: readBlock(cursor) });
    if (cursor.column >= 0) return unusual();
    if (cursor.atEnd) return documents;
    index++;
    if (index >= MAX_DOCUMENTS) return unusual();
    cursor.pos += '---'.length;
    cursor.finishLine();
    cursor.nextLine();
  }
}

/** The map or list that starts at the cursor, at the start of its line. */
function readBlock(cursor: Cursor): JsonValue {
  return atItem(cursor) ? readSeq(cursor, cursor.column) : readMap(cursor, cursor.column);
}

/** True at the `-` of a list item. */
function atItem(cursor: Cursor): boolean {
  return cursor.peek() === DASH && cursor.isBlank(1);
}

/** Reads the keys at `column`. The cursor is at the first key, or after `first` if given. */
function readMap(cursor: Cursor, column: number, first?: string): JsonObject {
  cursor.enter();
  const map: JsonObject = {};
  let key = first ?? readKey(cursor);
  for (;;) {
    // True for duplicate keys, and for properties of Object.prototype.
    if (map[key] !== undefined) return unusual();
    map[key] = readMapValue(cursor, column);
    if (cursor.column < column) break;
    if (cursor.column > column) return unusual();
    key = readKey(cursor);
  }
  cursor.leave();
  return map;
}

/** Value after the `:` at the cursor. Stops on the next line with content. */
function readMapValue(cursor: Cursor, column: number): JsonValue {
  cursor.pos++;
  if (!cursor.lineEnds()) return readInline(cursor, column);
  cursor.nextLine();
  if (cursor.column > column) return readBlock(cursor);
  return cursor.column === column && atItem(cursor) ? readSeq(cursor, column) : null;
}

/** Reads the items at `column`; the cursor is at the `-` of the first. */
function readSeq(cursor: Cursor, column: number): JsonValue[] {
  cursor.enter();
  const items: JsonValue[] = [];
  do {
    items.push(readItem(cursor, column));
    if (cursor.column > column) return unusual();
  } while (cursor.column === column && atItem(cursor));
  cursor.leave();
  return items;
}

/** Value after the `-` at the cursor. Stops on the next line with content. */
function readItem(cursor: Cursor, column: number): JsonValue {
  const dash = cursor.pos;
  cursor.pos++;
  if (cursor.lineEnds()) {
    cursor.nextLine();
    return cursor.column > column ? readBlock(cursor) : null;
  }
  const inner = column + cursor.pos - dash;
  if (atItem(cursor)) return readSeq(cursor, inner);
  const code = cursor.peek();
  if (startsOther(code)) return readInline(cursor, column);
  const scalar = isQuote(code) ? scanQuoted(cursor) : scanPlain(cursor);
  if (cursor.peek() === COLON) return readMap(cursor, inner, keyOf(cursor, code, scalar));
  return endLine(cursor, isQuote(code) ? scalar : plainValue(scalar));
}

function readInline(cursor: Cursor, column: number): JsonValue {
  const code = cursor.peek();
  if (isQuote(code)) return endLine(cursor, scanQuoted(cursor));
  if (code === BRACKET || code === BRACE) return endLine(cursor, scanFlow(cursor));
  if (code === PIPE || code === GREATER) return endLine(cursor, scanBlockScalar(cursor, column));
  return endLine(cursor, plainValue(scanPlain(cursor)));
}

/** Returns a value that must be the last on its line. */
function endLine<T>(cursor: Cursor, value: T): T {
  cursor.finishLine();
  cursor.nextLine();
  return value;
}

/** Reads the key at the cursor. Stops at its `:`. */
function readKey(cursor: Cursor): string {
  const code = cursor.peek();
  return keyOf(cursor, code, isQuote(code) ? scanQuoted(cursor) : scanPlain(cursor));
}

/** Checks a key: `first` is its first character, and the cursor is at its `:`. */
function keyOf(cursor: Cursor, first: number, source: string): string {
  if (cursor.peek() !== COLON || !cursor.isBlank(1) || cursor.peek(-1) === SPACE) return unusual();
  if (source.length > MAX_KEY) return unusual();
  if (!isQuote(first) && typeof plainValue(source) !== 'string') return unusual();
  return source;
}

function isQuote(code: number): boolean {
  return code === QUOTE || code === APOSTROPHE;
}

/** True if the character begins a value other than a scalar on one line. */
function startsOther(code: number): boolean {
  return code === BRACKET || code === BRACE || code === PIPE || code === GREATER;
}
