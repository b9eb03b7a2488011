/** Block scalars: `|` and `>` with `-`, `+` or no chomping, without an indentation indicator. */
import {
  type Cursor,
  DASH,
  GREATER,
  lineEnd,
  NEWLINE,
  SPACE,
  unusual,
} from './plain-yaml-cursor.ts';

const PLUS = 0x2b;

/**
 * Value of the block scalar whose header is at the cursor; stops between lines. Unsupported: empty
 * scalars, blank lines with more spaces than the indentation and, in folded scalars, lines that are
 * indented more than the first.
 */
export function scanBlockScalar(cursor: Cursor, parentColumn: number): string {
  const folded = cursor.peek() === GREATER;
  cursor.pos++;
  const chomp = cursor.peek();
  if (chomp === DASH || chomp === PLUS) cursor.pos++;
  cursor.finishLine();
  const leading = countBlankLines(cursor);
  const indent = indentAt(cursor);
  if (indent <= parentColumn || leading.widest > indent) return unusual();

  const { text } = cursor;
  let value = '\n'.repeat(leading.count);
  let blanks = leading;
  let column = indent;
  for (let first = true; column >= indent; first = false) {
    if (folded && column > indent) return unusual();
    if (!first) value += separator(folded, blanks.count);
    const end = lineEnd(text, cursor.pos + 1);
    value += text.slice(cursor.pos + 1 + indent, end);
    cursor.pos = end;
    blanks = countBlankLines(cursor);
    if (blanks.widest > indent) return unusual();
    column = indentAt(cursor);
  }
  if (column > parentColumn) return unusual();
  if (chomp === DASH) return value;
  return value + (chomp === PLUS ? '\n'.repeat(blanks.count + 1) : '\n');
}

function separator(folded: boolean, blankLines: number): string {
  if (!folded) return '\n'.repeat(blankLines + 1);
  return blankLines === 0 ? ' ' : '\n'.repeat(blankLines);
}

interface BlankLines {
  readonly count: number;
  /** Largest number of spaces on one of them. */
  readonly widest: number;
}

const NONE: BlankLines = { count: 0, widest: 0 };

/** Skips the blank lines that follow. */
function countBlankLines(cursor: Cursor): BlankLines {
  const { text } = cursor;
  let count = 0;
  let widest = 0;
  for (let pos = cursor.pos + 1; pos < text.length; pos++) {
    const start = pos;
    while (text.charCodeAt(pos) === SPACE) pos++;
    if (pos === text.length) return unusual();
    if (text.charCodeAt(pos) !== NEWLINE) break;
    count++;
    widest = Math.max(widest, pos - start);
    cursor.pos = pos;
  }
  return count === 0 ? NONE : { count, widest };
}

/** Number of spaces at the start of the next line; -1 at the end of the text. */
function indentAt({ text, pos }: Cursor): number {
  let end = pos + 1;
  if (end >= text.length) return -1;
  while (text.charCodeAt(end) === SPACE) end++;
  return end - pos - 1;
}
