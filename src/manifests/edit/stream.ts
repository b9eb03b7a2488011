/** Text that stays after a document is removed from its stream. */
import { isBlankOrComment, type StreamSlice } from '../stream.ts';
import { contentLineEnd, tailEnd, valueEnd } from './slots.ts';
import { isBlankLine, lineEnd, nextLine } from './splice.ts';
import { readTree } from './tree.ts';

/**
 * Comments that stay before a document: all before its `---`; without one, those that a blank line
 * separates from its first line. Directives are removed with their document.
 */
export function leftoverBefore(text: string, slice: StreamSlice): string {
  const lines = linesOf(text.slice(slice.start, slice.bodyStart)).filter(
    (line) => !line.startsWith('%'),
  );
  if (!text.startsWith('---', slice.bodyStart)) {
    while (lines.length > 0 && lines.at(-1)?.trim() !== '') lines.pop();
  }
  return lines.every((line) => line.trim() === '') ? '' : lines.join('');
}

/**
 * Comments that a blank line separates from the document before them, and its `...` if the
 * neighbouring documents would merge without one.
 */
export function leftoverBehind(
  text: string,
  slices: readonly StreamSlice[],
  slice: StreamSlice,
): string {
  const bodyEnd = slice.closedAt ?? slice.end;
  const comments = linesOf(text.slice(ownEnd(text, slice), bodyEnd));
  if (slice.index === 0) while (comments[0]?.trim() === '') comments.shift();
  const left = comments.every((comment) => comment.trim() === '') ? '' : comments.join('');
  const closed = slice.closedAt === undefined ? '' : text.slice(slice.closedAt, slice.end);
  return left + (needsClosing(text, slices, slice) ? closed : behindMarker(closed));
}

/**
 * A document as its own stream: with its comments and those directly at it, without those that stay
 * when it is removed. Undefined if directives before it affect its meaning.
 */
export function documentAlone(text: string, slice: StreamSlice): string | undefined {
  const before = linesOf(text.slice(slice.start, slice.bodyStart));
  if (before.some((line) => line.startsWith('%'))) return undefined;
  const isMarked = text.startsWith('---', slice.bodyStart);
  const apart = before.findLastIndex((line) => line.trim() === '') + 1;
  const head = isMarked ? '' : before.slice(apart).join('');
  return head + text.slice(slice.bodyStart, ownEnd(text, slice));
}

/**
 * The previous document ends at the `---` of the next one, unless that has none or has directives.
 */
function needsClosing(
  text: string,
  slices: readonly StreamSlice[],
  { index }: StreamSlice,
): boolean {
  const previous = slices[index - 1];
  const next = slices[index + 1];
  if (previous === undefined || previous.closedAt !== undefined || next === undefined) return false;
  if (!text.startsWith('---', next.bodyStart)) return true;
  return linesOf(text.slice(next.start, next.bodyStart)).some((line) => line.startsWith('%'));
}

/** Text after the line of the `...` within the slice: comments at the end of the stream. */
function behindMarker(closed: string): string {
  const rest = closed.slice(nextLine(closed, 0));
  return rest.trim() === '' ? '' : rest;
}

/** End of the comments directly below a document. */
function ownEnd(text: string, slice: StreamSlice): number {
  const bodyEnd = slice.closedAt ?? slice.end;
  let line = nextLine(text, contentEnd(text.slice(0, bodyEnd), slice));
  while (line < bodyEnd && !isBlankLine(text, line)) line = nextLine(text, line);
  return Math.min(line, bodyEnd);
}

/** End of the last line of a document, including its comments. */
function contentEnd(text: string, slice: StreamSlice): number {
  const tree = readTree(text.slice(slice.start));
  if (tree.flaws.length > 0 || tree.root.node === null) return lastContentLine(text, slice);
  const end = contentLineEnd(tree.source, valueEnd(tree.root));
  return slice.start + tailEnd(tree.source, end, 0);
}

function lastContentLine(text: string, slice: StreamSlice): number {
  let end = lineEnd(text, slice.bodyStart);
  for (
    let line = nextLine(text, slice.bodyStart);
    line < text.length;
    line = nextLine(text, line)
  ) {
    if (!isBlankOrComment(text, line, lineEnd(text, line))) end = lineEnd(text, line);
  }
  return end;
}

function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}
