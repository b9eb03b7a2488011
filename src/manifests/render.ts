/**
 * Renders JSON as new YAML text, in the style of the target file: lines for block collections, one
 * line for flow collections.
 */
import { isRecord, type JsonObject, type JsonValue } from '../apimachinery/index.ts';
import { doubleQuoted, type ScalarPlace, stringText, wordText } from './scalar-text.ts';

export interface BlockStyle {
  /** Indentation of a nested map, in columns. */
  readonly step: number;
  /** Indentation of a list below a key, in columns; 0 is flush left. */
  readonly listStep: number;
}

export const DEFAULT_STYLE: BlockStyle = { step: 2, listStep: 2 };

/** A value for a `key:` or a `-`. */
export interface Rendered {
  /** Text on the line of the indicator; may be empty. */
  readonly head: string;
  /** Whole lines below it. */
  readonly tail: readonly string[];
}

/** The library refuses an implicit key with more than 1024 characters before its `:`. */
const MAX_IMPLICIT_KEY = 1000;
const SPACE = ' ';

export function isEmptyCollection(value: JsonValue): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

/** Lines of a nonempty map or list, each indented by at least `column`. */
export function blockLines(
  value: JsonObject | JsonValue[],
  column: number,
  style: BlockStyle,
): string[] {
  return Array.isArray(value)
    ? value.flatMap((item) => itemLines(item, column, style))
    : Object.entries(value).flatMap(([key, item]) => pairLines(key, item, { column, style }));
}

export interface BlockPlace {
  readonly column: number;
  readonly style: BlockStyle;
  /** Set if the file quotes its keys, as JSON does. */
  readonly quoteKeys?: boolean;
}

export function pairLines(key: string, value: JsonValue, place: BlockPlace): string[] {
  const { column } = place;
  const { head, tail } = pairValue(value, place);
  const name = place.quoteKeys === true ? doubleQuoted(key) : keyText(key);
  const indent = SPACE.repeat(column);
  const behind = head === '' ? '' : ` ${head}`;
  if (name.length <= MAX_IMPLICIT_KEY) return [`${indent}${name}:${behind}`, ...tail];
  return [`${indent}? ${name}`, `${indent}:${behind}`, ...tail];
}

export function itemLines(value: JsonValue, column: number, style: BlockStyle): string[] {
  const { head, tail } = itemValue(value, column, style);
  return [`${SPACE.repeat(column)}- ${head}`, ...tail];
}

/** Value of a key at `column`. */
export function pairValue(value: JsonValue, { column, style }: BlockPlace): Rendered {
  if (typeof value !== 'object' || value === null) return scalarValue(value, column, style);
  if (isEmptyCollection(value)) return { head: Array.isArray(value) ? '[]' : '{}', tail: [] };
  const inner = column + (Array.isArray(value) ? style.listStep : style.step);
  return { head: '', tail: blockLines(value, inner, style) };
}

/** Value of a `-` at `column`; a collection begins on the line of the dash. */
export function itemValue(value: JsonValue, column: number, style: BlockStyle): Rendered {
  if (typeof value !== 'object' || value === null) return scalarValue(value, column, style);
  if (isEmptyCollection(value)) return { head: Array.isArray(value) ? '[]' : '{}', tail: [] };
  return compactValue(value, column + DASH_WIDTH, style);
}

const DASH_WIDTH = 2;

/** A collection whose first line is already at `column`. */
export function compactValue(
  value: JsonObject | JsonValue[],
  column: number,
  style: BlockStyle,
): Rendered {
  const [first = '', ...tail] = blockLines(value, column, style);
  return { head: first.slice(column), tail };
}

function scalarValue(
  value: Exclude<JsonValue, object>,
  column: number,
  style: BlockStyle,
): Rendered {
  if (typeof value !== 'string') return { head: wordText(value), tail: [] };
  if (isLiteralSafe(value)) return literalValue(value, column, style);
  return { head: stringText(value, { flow: false }), tail: [] };
}

function keyText(key: string): string {
  return stringText(key, { flow: false });
}

/**
 * True for multi-line text that a literal block represents exactly, whatever lines follow: at most
 * one final line end, no blank line with spaces at either end, nothing that needs an escape.
 */
export function isLiteralSafe(text: string): boolean {
  if (!text.includes('\n') || /\n\n$|^\s*$|^[ \t]+\n|\n[ \t]+\n?$/.test(text)) return false;
  if (/^\n*[ \t]/.test(text)) return false;
  return !/[^\n\t\P{C}]|[\p{Zl}\p{Zp}]/u.test(text);
}

function literalValue(text: string, column: number, style: BlockStyle): Rendered {
  const indent = SPACE.repeat(column + style.step);
  const ended = text.endsWith('\n');
  const lines = (ended ? text.slice(0, -1) : text).split('\n');
  return {
    head: ended ? '|' : '|-',
    tail: lines.map((line) => (line === '' ? '' : indent + line)),
  };
}

/** A value on one line, for a flow collection. */
export function flowText(value: JsonValue, options: { json: boolean }): string {
  if (Array.isArray(value)) {
    return `[${value.map((item) => flowText(item, options)).join(', ')}]`;
  }
  if (!isRecord(value)) return flowScalar(value, options);
  const pairs = Object.entries(value).map(([key, item]) => flowPair(key, item, options));
  return `{${pairs.join(', ')}}`;
}

export function flowPair(key: string, value: JsonValue, options: { json: boolean }): string {
  const name = options.json ? doubleQuoted(key) : stringText(key, { flow: true });
  const mark = name.length > MAX_IMPLICIT_KEY ? '? ' : '';
  return `${mark}${name}: ${flowText(value, options)}`;
}

export function flowScalar(value: Exclude<JsonValue, object>, { json }: { json: boolean }): string {
  if (json && typeof value === 'string') return doubleQuoted(value);
  return scalarText(value, { flow: true });
}

/** Any scalar on one line. */
function scalarText(value: Exclude<JsonValue, object>, place: ScalarPlace): string {
  return typeof value === 'string' ? stringText(value, place) : wordText(value);
}
