/**
 * Comments of a document. A comment below an encrypted key may reveal the value, so it is encrypted
 * too, bound to its map.
 */
import { CST, Parser } from 'yaml';
import { splitStream } from '../manifests/index.ts';
import { SOPS } from './metadata.ts';
import { isSealed } from './sealed-value.ts';
import type { Selection } from './selection.ts';

export interface FoundComment {
  /** Offset of the `#`. */
  readonly start: number;
  readonly end: number;
  /** The text after the `#`. */
  readonly text: string;
  /** Keys of the map of the comment. */
  readonly path: readonly string[];
  /** True: the comment is next to an encrypted value. */
  readonly secret: boolean;
}

interface Mark {
  readonly offset: number;
  readonly path: readonly string[];
  /** Undefined: a key. */
  readonly comment?: string;
  /** Inside a flow collection columns have no meaning. */
  readonly inFlow: boolean;
}

/** Keys before, above and after a comment. */
interface Place {
  /** Text of its line before it. */
  readonly line: string;
  /** The closest preceding key, and the columns of the keys that enclose it, by depth. */
  readonly before: Mark | undefined;
  readonly columns: readonly number[];
  readonly after: Mark | undefined;
}

/** Every comment of one document, in order, in time that follows the length: a pusher can write a million of them. */
export function findComments(source: string, selection: Selection): FoundComment[] {
  if (!source.includes('#')) return [];
  const marks: Mark[] = [];
  for (const token of new Parser().parse(source)) new Marker(marks).visit(token, []);
  marks.sort((a, b) => a.offset - b.offset);
  const keys = marks.filter(({ comment }) => comment === undefined);
  const lineStart = lineStarts(source);
  const columns: number[] = [];
  const found: FoundComment[] = [];
  let next = 0;
  for (const mark of marks) {
    const { comment: text, offset: start } = mark;
    const lineFrom = lineStart(start);
    if (text === undefined) {
      columns[mark.path.length] = start - lineFrom;
      next += 1;
      continue;
    }
    const line = source.slice(lineFrom, start);
    const place = { line, before: keys[next - 1], columns, after: keys[next] };
    const { path, secret } = placed(mark, place, selection);
    if (path[0] !== SOPS) found.push({ start, end: start + 1 + text.length, text, path, secret });
  }
  return found;
}

/** Beginnings of the lines of offsets, which must come in their order. */
function lineStarts(source: string): (offset: number) => number {
  let start = 0;
  let end = 0;
  const endOf = (): number => {
    const found = source.indexOf('\n', start);
    return found < 0 ? source.length : found;
  };
  end = endOf();
  return (offset) => {
    while (end < offset) {
      start = end + 1;
      end = endOf();
    }
    return start;
  };
}

/**
 * Offsets of plaintext comments next to encrypted values. SOPS accepts such a file silently, and its
 * author may not know that the comments are readable.
 */
export function clearComments(text: string, selection: Selection): number[] {
  return splitStream(text).flatMap(({ start, end }) => {
    const source = text.slice(start, end);
    if (!mayHoldClear(source)) return [];
    return findComments(source, selection)
      .filter(({ secret, text: words }) => secret && !isSealed(words) && words.trim() !== '')
      .map((comment) => start + comment.start);
  });
}

/** A quick test that is false for most files. Comments above the first key belong to no value. */
function mayHoldClear(source: string): boolean {
  for (let at = source.indexOf('#', bodyStart(source)); at >= 0; at = source.indexOf('#', at + 1)) {
    if (!source.startsWith('#ENC[AES256_GCM,', at)) return true;
  }
  return false;
}

/** Offset of the first line that is not blank, a comment or `---`. */
function bodyStart(source: string): number {
  for (let at = 0; at < source.length; ) {
    const newline = source.indexOf('\n', at);
    const end = newline < 0 ? source.length : newline;
    const line = source.slice(at, end).trim();
    if (line !== '' && line !== '---' && !line.startsWith('#')) return at;
    at = end + 1;
  }
  return source.length;
}

function placed(
  mark: Mark,
  { line, before, columns, after }: Place,
  selection: Selection,
): { path: readonly string[]; secret: boolean } {
  if (mark.inFlow) return { path: mark.path, secret: selection(mark.path) };
  const isInline = line.trim() !== '';
  if (isInline && before !== undefined) {
    return { path: before.path.slice(0, -1), secret: selection(before.path) };
  }
  const indented = enclosing(before?.path ?? [], columns, line.length);
  if (selection(indented)) return { path: indented, secret: true };
  const common = commonPath(before?.path ?? [], after?.path ?? []);
  return selection(common) ? { path: common, secret: true } : { path: indented, secret: false };
}

/** Path of the closest key with a smaller indent among those of a path. */
function enclosing(
  path: readonly string[],
  columns: readonly number[],
  column: number,
): readonly string[] {
  const depth = path.findLastIndex((_key, at) => (columns[at + 1] ?? column) < column) + 1;
  return path.slice(0, depth);
}

function commonPath(a: readonly string[], b: readonly string[]): readonly string[] {
  const differs = a.findIndex((key, i) => key !== b[i]);
  return differs < 0 ? a : a.slice(0, differs);
}

/** Collects keys and comments from tokens. */
class Marker {
  readonly #marks: Mark[];
  #flow = 0;

  constructor(marks: Mark[]) {
    this.#marks = marks;
  }

  visit(token: CST.Token | null | undefined, path: readonly string[]): void {
    if (token === null || token === undefined) return;
    if (token.type === 'comment') this.#note(token.offset, path, token.source.slice(1));
    if ('start' in token) this.#all(Array.isArray(token.start) ? token.start : [], path);
    if ('props' in token) this.#all(token.props, path);
    const isFlow = token.type === 'flow-collection';
    if (isFlow) this.#flow++;
    if ('items' in token) for (const item of token.items) this.#item(item, path);
    if ('value' in token) this.visit(token.value, path);
    if (isFlow) this.#flow--;
    if ('end' in token) this.#all(token.end ?? [], path);
  }

  #item(item: CST.CollectionItem, path: readonly string[]): void {
    this.#all(item.start, path);
    const { key } = item;
    const name =
      key === null || key === undefined ? undefined : CST.resolveAsScalar(key, false)?.value;
    const inner = name === undefined ? path : [...path, name];
    if (key) {
      this.#note(key.offset, inner);
      if ('end' in key) this.#all(key.end ?? [], path);
    }
    this.#all(item.sep ?? [], inner);
    this.visit(item.value, inner);
  }

  #all(tokens: readonly CST.Token[], path: readonly string[]): void {
    for (const token of tokens) this.visit(token, path);
  }

  #note(offset: number, path: readonly string[], comment?: string): void {
    const mark = { offset, path, inFlow: this.#flow > 0 };
    this.#marks.push(comment === undefined ? mark : { ...mark, comment });
  }
}
