/** Replacements in a text, and the lines they fall on. */
import type { ParsedNode } from 'yaml';

export interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** The node whose change asked for it: where an edit goes wrong, this one is rewritten. */
  readonly owner: ParsedNode;
}

/** Two splices want the same bytes. */
export class OverlapError extends Error {
  readonly owner: ParsedNode;

  constructor(owner: ParsedNode) {
    super('two changes of a document overlap');
    this.owner = owner;
  }
}

/**
 * Splices by offset; at one offset insertions first, in the order given. Deletions may overlap.
 * Throws an OverlapError where anything else does.
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

/** Applies splices that are in order. */
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

/** The end of the line that `offset` is on, without its line end. */
export function lineEnd(source: string, offset: number): number {
  const newline = source.indexOf('\n', offset);
  if (newline === -1) return source.length;
  return newline > offset && source[newline - 1] === '\r' ? newline - 1 : newline;
}

/** Where the line behind the one of `offset` begins; the length of the text if there is none. */
export function nextLine(source: string, offset: number): number {
  const newline = source.indexOf('\n', offset);
  return newline === -1 ? source.length : newline + 1;
}

/** The end of the line before the one that begins at `start`, which must not be 0. */
export function previousLineEnd(source: string, start: number): number {
  return source[start - 2] === '\r' ? start - 2 : start - 1;
}

/** The line end at an offset, '' where there is none. */
export function breakAt(source: string, offset: number): string {
  if (source[offset] === '\n') return '\n';
  return source.startsWith('\r\n', offset) ? '\r\n' : '';
}

export function column(source: string, offset: number): number {
  return offset - lineStart(source, offset);
}

/** True where nothing but spaces stands before the offset on its line. */
export function startsLine(source: string, offset: number): boolean {
  return /^ *$/.test(source.slice(lineStart(source, offset), offset));
}

/** True where nothing but space and a comment follows on the line. */
export function endsLine(source: string, offset: number): boolean {
  return /^[ \t]*(?:#|$)/.test(source.slice(offset, lineEnd(source, offset)));
}

export function isBlankLine(source: string, start: number): boolean {
  return start < source.length && source.slice(start, lineEnd(source, start)).trim() === '';
}

/** The column of the comment that is alone on the line that begins at `start`, or -1. */
export function commentColumn(source: string, start: number): number {
  let at = start;
  while (source[at] === ' ') at++;
  return source[at] === '#' ? at - start : -1;
}

/** The line end that the text uses, by its first. */
export function lineBreak(text: string): string {
  const first = text.indexOf('\n');
  return first > 0 && text[first - 1] === '\r' ? '\r\n' : '\n';
}
