/** Flow collections on one line, of scalars and of each other: `[a, "b"]`, `{a: 1}`, `[]`. */
import type { JsonObject, JsonValue } from '../../apimachinery/index.ts';
import {
  APOSTROPHE,
  BRACE,
  BRACE_END,
  BRACKET,
  BRACKET_END,
  COLON,
  COMMA,
  type Cursor,
  QUOTE,
  SPACE,
  unusual,
} from './plain-yaml-cursor.ts';
import { plainValue, scanQuoted } from './plain-yaml-scalar.ts';

/** Characters of a plain scalar in a flow collection here; no `:`, no inner space. */
const PLAIN = /[\w./+=$();-]+/y;

/** Value of the flow collection at the cursor; stops after it. */
export function scanFlow(cursor: Cursor): JsonValue {
  cursor.enter();
  const isMap = cursor.peek() === BRACE;
  cursor.pos++;
  cursor.skipSpaces();
  const value = isMap ? scanFlowMap(cursor) : scanFlowSeq(cursor);
  cursor.leave();
  return value;
}

function scanFlowSeq(cursor: Cursor): JsonValue[] {
  const items: JsonValue[] = [];
  if (cursor.peek() === BRACKET_END) cursor.pos++;
  else
    do items.push(scanFlowValue(cursor));
    while (hasMore(cursor, BRACKET_END));
  return items;
}

function scanFlowMap(cursor: Cursor): JsonObject {
  const map: JsonObject = {};
  if (cursor.peek() === BRACE_END) cursor.pos++;
  else
    do {
      const key = scanFlowPlain(cursor);
      // True for duplicate keys, and for properties of Object.prototype.
      if (typeof key !== 'string' || map[key] !== undefined) return unusual();
      if (cursor.peek() !== COLON || cursor.peek(1) !== SPACE) return unusual();
      cursor.pos++;
      cursor.skipSpaces();
      map[key] = scanFlowValue(cursor);
    } while (hasMore(cursor, BRACE_END));
  return map;
}

/** Skips the `,` between items, or the end of the collection. */
function hasMore(cursor: Cursor, end: number): boolean {
  cursor.skipSpaces();
  const code = cursor.peek();
  cursor.pos++;
  if (code === end) return false;
  if (code !== COMMA) return unusual();
  cursor.skipSpaces();
  return true;
}

function scanFlowValue(cursor: Cursor): JsonValue {
  const code = cursor.peek();
  if (code === BRACKET || code === BRACE) return scanFlow(cursor);
  if (code === QUOTE || code === APOSTROPHE) return scanQuoted(cursor);
  return scanFlowPlain(cursor);
}

function scanFlowPlain(cursor: Cursor): JsonValue {
  PLAIN.lastIndex = cursor.pos;
  const source = PLAIN.exec(cursor.text)?.[0];
  if (source === undefined) return unusual();
  cursor.pos += source.length;
  return plainValue(source);
}
