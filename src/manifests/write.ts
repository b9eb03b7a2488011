/** Formats an object as a new manifest file. */
import { isRecord, type JsonObject, type JsonValue } from '../apimachinery/index.ts';
import { setOwn } from './evaluate.ts';
import { blockLines, DEFAULT_STYLE, isEmptyCollection } from './render.ts';

/** First keys, in order, of every object and of its metadata. */
export const OBJECT_KEYS: readonly string[] = ['apiVersion', 'kind', 'metadata', 'spec'];
const METADATA_KEYS: readonly string[] = ['name', 'namespace', 'labels', 'annotations'];

/**
 * The manifest of an object: apiVersion, kind, metadata and spec first, other keys in the given
 * order, two spaces per level, long lines unbroken, multi-line text as literal blocks. Ends with a
 * line end. Throws a TypeError for values that are not JSON (NaN, functions); omits undefined
 * values.
 */
export function formatManifest(object: object): string {
  return `${documentLines(toJsonObject(object)).join('\n')}\n`;
}

/** Lines of a whole document. */
export function documentLines(object: JsonObject): string[] {
  const ordered = inOrder(object, OBJECT_KEYS);
  const { metadata } = ordered;
  if (isRecord(metadata)) ordered['metadata'] = inOrder(metadata, METADATA_KEYS);
  return isEmptyCollection(ordered) ? ['{}'] : blockLines(ordered, 0, DEFAULT_STYLE);
}

/** Lexemes of a key: indentation, start, text, colon, and a space or a line break. */
const KEY_LEXEMES = 5;
/** Those of a long one: a question mark and a space more, and the colon on a line of its own. */
const LONG_KEY_LEXEMES = 10;
/** Of a shorter one, six characters for each are no more than an implicit key may have. */
const LONG_KEY = 166;
/** Lexemes of a dash: indentation, the dash, and a space. */
const ITEM_LEXEMES = 3;
/** Lexemes of a scalar: space, start, text, line break. Those of a block: its header and a line break too. */
const SCALAR_LEXEMES = 4;
const BLOCK_LEXEMES = 6;

/** Upper bound of the lexemes of the manifest of a value: less than twice their number. */
export function mostLexemes(value: JsonValue): number {
  if (typeof value === 'string' && value.includes('\n')) return BLOCK_LEXEMES;
  if (typeof value !== 'object' || value === null) return SCALAR_LEXEMES;
  // An empty one is two brackets.
  let count = SCALAR_LEXEMES;
  if (Array.isArray(value)) {
    for (const item of value) count += ITEM_LEXEMES + mostLexemes(item);
    return count;
  }
  for (const key in value) {
    count +=
      (key.length > LONG_KEY ? LONG_KEY_LEXEMES : KEY_LEXEMES) + mostLexemes(value[key] ?? null);
  }
  return count;
}

function inOrder(map: JsonObject, first: readonly string[]): JsonObject {
  const ordered: JsonObject = {};
  const keys = Object.keys(map);
  for (const key of [...first.filter((key) => keys.includes(key)), ...keys]) {
    setOwn(ordered, key, map[key] ?? null);
  }
  return ordered;
}

/** A copy with nothing but JSON; keys with undefined values are omitted. */
export function toJson(value: unknown): JsonValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (Array.isArray(value)) return value.map(toJson);
  if (!isRecord(value)) throw new TypeError(`a manifest holds JSON only, not ${nameOf(value)}`);
  const copy: JsonObject = {};
  for (const [key, item] of Object.entries(value)) {
    if (item !== undefined) setOwn(copy, key, toJson(item));
  }
  return copy;
}

/** The same for a map. */
export function toJsonObject(value: object): JsonObject {
  const json = toJson(value);
  if (isRecord(json)) return json;
  throw new TypeError('a manifest is a map');
}

function nameOf(value: unknown): string {
  return typeof value === 'number' ? String(value) : typeof value;
}
