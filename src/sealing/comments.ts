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
  readonly column: number;
  readonly path: readonly string[];
  /** Undefined: a key. */
  readonly comment?: string;
  /** Inside a flow collection columns have no meaning. */
  readonly inFlow: boolean;
}

/** Every comment of one document, in order. */
export function findComments(source: string, selection: Selection): FoundComment[] {
  if (!source.includes('#')) return [];
  const marks: Mark[] = [];
  for (const token of new Parser().parse(source)) new Marker(source, marks).visit(token, []);
  marks.sort((a, b) => a.offset - b.offset);
  return marks.flatMap((mark, i) => {
    const { comment: text, offset: start } = mark;
    if (text === undefined) return [];
    const { path, secret } = placed(source, { marks, at: i, selection });
    if (path[0] === SOPS) return [];
    return [{ start, end: start + 1 + text.length, text, path, secret }];
  });
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
  source: string,
  { marks, at, selection }: { marks: readonly Mark[]; at: number; selection: Selection },
): { path: readonly string[]; secret: boolean } {
  const mark = marks[at];
  if (mark === undefined) throw new RangeError(`the text has no mark ${at}`);
  const before = marks.slice(0, at).findLast(({ comment }) => comment === undefined);
  const after = marks.slice(at + 1).find(({ comment }) => comment === undefined);
  if (mark.inFlow) return { path: mark.path, secret: selection(mark.path) };
  const line = source.slice(source.lastIndexOf('\n', mark.offset - 1) + 1, mark.offset);
  const isInline = line.trim() !== '';
  if (isInline && before !== undefined) {
    return { path: before.path.slice(0, -1), secret: selection(before.path) };
  }
  const indented = before === undefined ? [] : enclosing(marks, before, mark.column);
  if (selection(indented)) return { path: indented, secret: true };
  const common = commonPath(before?.path ?? [], after?.path ?? []);
  return selection(common) ? { path: common, secret: true } : { path: indented, secret: false };
}

/** Path of the closest preceding key with a smaller indent. */
function enclosing(marks: readonly Mark[], before: Mark, column: number): readonly string[] {
  for (let { path } = before; path.length > 0; path = path.slice(0, -1)) {
    const key = marks.findLast(
      (mark) =>
        mark.comment === undefined && mark.offset <= before.offset && isSame(mark.path, path),
    );
    if (key !== undefined && key.column < column) return path;
  }
  return [];
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((key, i) => key === b[i]);
}

function commonPath(a: readonly string[], b: readonly string[]): readonly string[] {
  const differs = a.findIndex((key, i) => key !== b[i]);
  return differs < 0 ? a : a.slice(0, differs);
}

/** Collects keys and comments from tokens. */
class Marker {
  readonly #source: string;
  readonly #marks: Mark[];
  #flow = 0;

  constructor(source: string, marks: Mark[]) {
    this.#source = source;
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
    const column = offset - (this.#source.lastIndexOf('\n', offset - 1) + 1);
    const mark = { offset, column, path, inFlow: this.#flow > 0 };
    this.#marks.push(comment === undefined ? mark : { ...mark, comment });
  }
}
