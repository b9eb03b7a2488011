/** Replacements in a text, and functions for its lines. */
import type { ParsedNode } from 'yaml';

export interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** The node whose change caused it: it is rewritten if the edit fails. */
  readonly owner: ParsedNode;
}

/** Two splices replace the same bytes. */
export class OverlapError extends Error {
  readonly owner: ParsedNode;

  constructor(owner: ParsedNode) {
    super('two changes of a document overlap');
    this.owner = owner;
  }
}

/**
 * Sorts splices by offset; at one offset insertions first, in the given order. Deletions may
 * overlap. Throws an OverlapError if any other splices do.
 */
export function inOrder(splices: readonly Splice[]): Splice[] {
  const rank = (splice: Splice) => (splice.end > splice.start ? 1 : 0);
  const sorted = splices.toSorted((a, b) => a.start - b.start || rank(a) - rank(b));
  const ordered: Splice[] = [];
  for (const splice of sorted) {
    const last = ordered.at(-1);
    if (last === undefined || splice.start >= last.end) ordered.push(splice);
    else if (last.text !== '' || splice.text !== '') throw new OverlapError(splice.owner);
    else ordered[ordered.length - 1] = { ...last, end: Math.max(last.end, splice.end) };
  }
  return ordered;
}

/** Applies sorted splices. */
export function apply(source: string, splices: readonly Splice[]): string {
  let text = '';
  let at = 0;
  for (const splice of splices) {
    text += source.slice(at, splice.start) + splice.text;
    at = splice.end;
  }
  return text + source.slice(at);
}

export function lineStart(source: string, offset: number): number {
  return offset === 0 ? 0 : source.lastIndexOf('\n', offset - 1) + 1;
}

/** End of the line of `offset`, without its line end. */
export function lineEnd(source: string, offset: number): number {
  const newline = source.indexOf('\n', offset);
  if (newline === -1) return source.length;
  return newline > offset && source[newline - 1] === '\r' ? newline - 1 : newline;
}

/** Start of the line after that of `offset`; the length of the text if there is none. */
export function nextLine(source: string, offset: number): number {
  const newline = source.indexOf('\n', offset);
  return newline === -1 ? source.length : newline + 1;
}

/** End of the line before the one that begins at `start`, which must not be 0. */
export function previousLineEnd(source: string, start: number): number {
  return source[start - 2] === '\r' ? start - 2 : start - 1;
}

export function column(source: string, offset: number): number {
  return offset - lineStart(source, offset);
}

/** True if only spaces precede the offset on its line. */
export function startsLine(source: string, offset: number): boolean {
  return /^ *$/.test(source.slice(lineStart(source, offset), offset));
}

export function isBlankLine(source: string, start: number): boolean {
  return start < source.length && source.slice(start, lineEnd(source, start)).trim() === '';
}

/** Column of the comment on the comment-only line at `start`, or -1. */
export function commentColumn(source: string, start: number): number {
  let at = start;
  while (source[at] === ' ') at++;
  return source[at] === '#' ? at - start : -1;
}

/** The first line end of the text. */
export function lineBreak(text: string): string {
  const first = text.indexOf('\n');
  return first > 0 && text[first - 1] === '\r' ? '\r\n' : '\n';
}
