/** Adds entries to block collections and removes entries, whole lines at a time. */
import type { ParsedNode } from 'yaml';
import { type Entry, entryAt } from './slots.ts';
import {
  column,
  commentColumn,
  isBlankLine,
  lineEnd,
  lineStart,
  nextLine,
  previousLineEnd,
  type Splice,
  startsLine,
} from './splice.ts';
import { type EditTree, lastBlockScalar } from './tree.ts';

export interface BlockChange {
  readonly owner: ParsedNode;
  /** All present entries, in order. */
  readonly entries: readonly Entry[];
  readonly removed: ReadonlySet<Entry>;
  /** Entry that the new ones follow; undefined: they come first. */
  readonly added: readonly Addition[];
  /** Earliest start of the collection: no comment above belongs to it. */
  readonly from: number;
  /** Set if new first entries go below a comment at the very top, not above it. */
  readonly belowComment: boolean;
}

export interface Addition {
  readonly after: Entry | undefined;
  /** Whole lines with their indentation. */
  readonly lines: readonly string[];
}

/** At least one entry stays: a collection that loses all of them is replaced as a whole. */
export function changeBlock(tree: EditTree, change: BlockChange): Splice[] {
  const splices = change.added.map((addition) => insertion(tree, change, addition));
  const [first] = change.entries;
  let from = 0;
  if (first !== undefined && change.removed.has(first) && !startsLine(tree.source, first.start)) {
    from = change.entries.findIndex((entry) => !change.removed.has(entry));
    splices.push(removeInlineHead(tree, change, from));
  }
  for (const [index, entry] of change.entries.entries()) {
    if (index >= from && change.removed.has(entry)) splices.push(removal(tree, change, index));
  }
  return splices;
}

function insertion({ source, eol }: EditTree, change: BlockChange, addition: Addition): Splice {
  const { owner } = change;
  const { after, lines } = addition;
  if (after !== undefined) {
    // The line above keeps its own line end, even if it differs from the others.
    const text = (breakAt(source, after.tail) || eol) + lines.join(eol);
    return { start: after.tail, end: after.tail, text, owner };
  }
  const head = entryAt(change.entries, 0);
  if (!startsLine(source, head.start)) {
    const text = lines.join(eol).trimStart() + eol + ' '.repeat(head.slot.column);
    return { start: head.start, end: head.start, text, owner };
  }
  const first = change.entries.find((entry) => !change.removed.has(entry)) ?? head;
  const comment = commentStart(source, first.start, change.from);
  // Comments at the top of a file describe the file, not its first key.
  const atTop = first === head && source.slice(change.from, comment).trim() === '';
  const at = change.belowComment && atTop ? lineStart(source, first.start) : comment;
  return { start: at, end: at, text: lines.map((line) => line + eol).join(''), owner };
}

/**
 * Removes the first entries of a collection that begins on the line of its dash: the next entry
 * moves up to their place.
 */
function removeInlineHead({ source }: EditTree, change: BlockChange, kept: number): Splice {
  const { owner, entries } = change;
  let end = entryAt(entries, kept - 1).tail;
  while (end < source.length && /\s/.test(source.charAt(end))) end++;
  return { start: entryAt(entries, 0).start, end, text: '', owner };
}

/**
 * Removes an entry with the comments on its lines, those directly above it at its column, and those
 * below it that are indented deeper. Of the blank lines around it, one side is removed.
 */
function removal({ source }: EditTree, change: BlockChange, index: number): Splice {
  const { owner, entries } = change;
  const entry = entryAt(entries, index);
  const previous = entries[index - 1];
  const from = previous === undefined ? change.from : previous.tail;
  let start = commentStart(source, entry.start, from);
  let end = entry.tail;
  const next = nextLine(source, end);
  if (next === source.length || isBlankLine(source, next)) {
    if (previous === undefined && index < entries.length - 1) end = blankEnd(source, end);
    else start = blankStart(source, start, from);
  }
  // Blank lines after a scalar with `+` chomping would become part of it.
  if (previous !== undefined && endsInKeptScalar(source, previous.slot.node)) {
    end = blankEnd(source, end);
  }
  if (start === 0) return { start, end: nextLine(source, end), text: '', owner };
  const takesLastLine = end === source.length && previous !== undefined;
  // A block scalar above keeps its own line end.
  const keepsLineEnd = takesLastLine && source[previous.contentEnd - 1] === '\n';
  const own = breakAt(source, end);
  if (own !== '' && own !== breakAt(source, previousLineEnd(source, start))) {
    return { start, end: nextLine(source, end), text: '', owner };
  }
  return { start: keepsLineEnd ? start : previousLineEnd(source, start), end, text: '', owner };
}

/**
 * Start of the line with the first of the comments directly above an entry at its column, or of the
 * entry's own line.
 */
export function commentStart(source: string, entry: number, from: number): number {
  const own = column(source, entry);
  let start = lineStart(source, entry);
  while (start > 0) {
    const above = lineStart(source, start - 1);
    if (above < from || commentColumn(source, above) !== own) break;
    start = above;
  }
  return start;
}

function blankStart(source: string, line: number, from: number): number {
  let start = line;
  while (start > 0) {
    const above = lineStart(source, start - 1);
    if (above < from || !isBlankLine(source, above)) break;
    start = above;
  }
  return start;
}

/** End of the last blank line below. */
function blankEnd(source: string, end: number): number {
  let last = end;
  for (let line = nextLine(source, end); isBlankLine(source, line); line = nextLine(source, line)) {
    last = lineEnd(source, line);
  }
  return last;
}

/** The line end at an offset, '' if there is none. */
function breakAt(source: string, offset: number): string {
  if (source[offset] === '\n') return '\n';
  return source.startsWith('\r\n', offset) ? '\r\n' : '';
}

/** True if the node ends in a block scalar with `+`: blank lines after it belong to it. */
function endsInKeptScalar(source: string, node: ParsedNode | null): boolean {
  const last = lastBlockScalar(node);
  return last !== undefined && /^[|>]\d?\+/.test(source.slice(last.range[0], last.range[0] + 3));
}
