/** Converts offsets to lines and columns, and field paths to positions in a document. */
import { isAlias, isMap, isScalar, isSeq, type ParsedNode } from 'yaml';
import type { FieldPath } from '../apimachinery/index.ts';
import { compose } from './compose.ts';
import { evaluate, isMergeKey } from './evaluate.ts';
import type { ManifestDocument, Position } from './manifest.ts';
import { BYTE_ORDER_MARK, type StreamSlice } from './stream.ts';

/** Position of an offset: lines and characters from 1; a byte order mark does not count. */
export function positionAt(text: string, offset: number): Position {
  return placesIn(text)(offset);
}

/** The same for many offsets of one text. The lines are indexed on first use. */
export function placesIn(text: string): (offset: number) => Position {
  let starts: readonly number[] | undefined;
  return (offset) => {
    starts ??= lineStarts(text);
    const line = lineOf(starts, offset);
    return { line, col: charactersIn(text, starts[line - 1] ?? 0, offset) + 1 };
  };
}

/** Lines alone: their cost does not grow with the length of a line. */
export function linesIn(text: string): (offset: number) => number {
  let starts: readonly number[] | undefined;
  return (offset) => {
    starts ??= lineStarts(text);
    return lineOf(starts, offset);
  };
}

function lineStarts(text: string): number[] {
  const starts = [text.startsWith(BYTE_ORDER_MARK) ? 1 : 0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

/** Last line that begins at or before the offset, from 1. */
function lineOf(starts: readonly number[], offset: number): number {
  let [low, high] = [0, starts.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((starts[middle] ?? 0) <= offset) low = middle;
    else high = middle;
  }
  return low + 1;
}

function charactersIn(text: string, from: number, to: number): number {
  let count = 0;
  for (let at = from; at < to; count++) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return count;
}

/** One document of a text. */
export interface DocumentPlace {
  readonly slice: Pick<StreamSlice, 'start' | 'bodyStart' | 'end'>;
  /** Offset of its value in the slice; undefined if it has none. */
  readonly root: number | undefined;
  readonly placeOf: (offset: number) => Position;
}

/**
 * Finds positions in one document. The syntax tree is composed on first use, and lives as long as
 * the function.
 */
export function locator(
  text: string,
  { slice, root, placeOf }: DocumentPlace,
): ManifestDocument['locate'] {
  let tree: Tree | undefined;
  const offsetOf = (path: FieldPath, atKey: boolean): number | undefined => {
    if (path.length === 0) return root;
    tree ??= treeOf(text.slice(slice.start, slice.end));
    return tree.contents === null ? undefined : find(tree, path, atKey);
  };
  return (path, options) => {
    const found = offsetOf(path, options?.atKey === true);
    const offset = found === undefined ? slice.bodyStart : slice.start + found;
    const start = placeOf(offset);
    const inside = options?.inside;
    return inside === undefined ? start : placeInside(text, { offset, start }, inside);
  };
}

/**
 * Position within a text value that starts at `offset`. Exact for block scalars and for text on one
 * line without escapes; the nearest known position for others.
 */
function placeInside(
  text: string,
  { offset, start }: { offset: number; start: Position },
  { line, col }: Position,
): Position {
  const [header = '', ...lines] = text.slice(offset).split('\n', line + LINES_TO_INDENT);
  if (/^[|>]/.test(header)) {
    const first = lines.find((content) => content.trim() !== '') ?? '';
    const indent = first.length - first.trimStart().length;
    return { line: start.line + line, col: indent + col };
  }
  if (line > 1) return { line: start.line + line - 1, col };
  return { line: start.line, col: start.col + col - (/^["']/.test(header) ? 0 : 1) };
}

/** Limit of empty lines at the start of a block scalar until its indentation is known. */
const LINES_TO_INDENT = 20;

interface Tree {
  readonly contents: ParsedNode | null;
  readonly targets: ReadonlyMap<ParsedNode, ParsedNode>;
}

function treeOf(source: string): Tree {
  const { contents } = compose(source, { tokens: false });
  return { contents, targets: evaluate(contents).targets };
}

interface Place {
  /** Undefined for an item of a list and for the root. */
  readonly key: ParsedNode | undefined;
  readonly value: ParsedNode | null;
}

function find(tree: Tree, path: FieldPath, atKey: boolean): number | undefined {
  let place: Place = { key: undefined, value: tree.contents };
  for (const step of path) {
    const next = childOf(tree, place.value, step);
    if (next === undefined) return startOf(place, true);
    place = next;
  }
  return startOf(place, atKey);
}

function startOf({ key, value }: Place, atKey: boolean): number | undefined {
  return (atKey ? (key ?? value) : (value ?? key))?.range[0];
}

function childOf(tree: Tree, parent: ParsedNode | null, step: string | number): Place | undefined {
  const node = follow(tree, parent);
  if (typeof step === 'number') {
    const item = isSeq(node) ? node.items[step] : undefined;
    return item === undefined ? undefined : { key: undefined, value: item };
  }
  return mapChild(tree, node, step, 0);
}

/** Merge keys may refer to each other, but not to themselves; the limit is for broken documents. */
const MERGES_FOLLOWED = 20;

function mapChild(
  tree: Tree,
  node: ParsedNode | null,
  step: string,
  merges: number,
): Place | undefined {
  if (!isMap(node) || merges > MERGES_FOLLOWED) return undefined;
  for (const { key, value } of node.items) {
    const name = follow(tree, key);
    if (isScalar(name) && name.source === step && !isMergeKey(key)) {
      return { key: key, value: value };
    }
  }
  for (const { key, value } of node.items) {
    if (!isMergeKey(key)) continue;
    const merged = follow(tree, value);
    for (const source of isSeq(merged) ? merged.items : [merged]) {
      const found = mapChild(tree, follow(tree, source), step, merges + 1);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

function follow(tree: Tree, node: ParsedNode | null): ParsedNode | null {
  return isAlias(node) ? (tree.targets.get(node) ?? null) : node;
}
