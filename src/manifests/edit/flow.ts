/** Adds entries to flow collections and removes entries. */
import type { ParsedNode } from 'yaml';
import { commentStart } from './block.ts';
import { type Entry, entryAt } from './slots.ts';
import {
  column,
  lineEnd,
  lineStart,
  OverlapError,
  previousLineEnd,
  type Splice,
  startsLine,
} from './splice.ts';
import type { EditTree } from './tree.ts';

export interface FlowChange {
  readonly owner: ParsedNode;
  readonly entries: readonly Entry[];
  readonly removed: ReadonlySet<Entry>;
  readonly added: readonly FlowAddition[];
}

export interface FlowAddition {
  readonly after: Entry | undefined;
  readonly texts: readonly string[];
}

/**
 * At least one entry stays. Throws if a comment is in the way, so that the collection is rewritten
 * as a whole.
 */
export function changeFlow(tree: EditTree, change: FlowChange): Splice[] {
  const { source } = tree;
  const ownLine = change.entries.every(
    (entry) => startsLine(source, entry.start) && endsLine(source, afterComma(entry)),
  );
  return ownLine ? changeLines(tree, change) : changeInline(tree, change);
}

function afterComma(entry: Entry): number {
  return entry.comma === undefined ? entry.contentEnd : entry.comma + 1;
}

/** For collections with each entry on its own lines. */
function changeLines({ source, eol }: EditTree, change: FlowChange): Splice[] {
  const { owner, entries, removed } = change;
  const splices: Splice[] = [];
  const closingComma = entries.at(-1)?.comma !== undefined;
  const kept = entries.filter((entry) => !removed.has(entry));
  for (const entry of kept) {
    const addition = change.added.find(({ after }) => after === entry);
    const isLast = entry === kept.at(-1);
    const needsComma = !isLast || closingComma || addition !== undefined;
    splices.push(...commaAfter(entry, { owner, needsComma }));
    if (addition === undefined) continue;
    const at = lineEnd(source, afterComma(entry));
    const indent = eol + ' '.repeat(column(source, entry.start));
    const text = addition.texts.map((item) => indent + item).join(',');
    splices.push({ start: at, end: at, text: isLast && !closingComma ? text : `${text},`, owner });
  }
  const [first] = change.added.filter(({ after }) => after === undefined);
  if (first !== undefined)
    splices.push(...linesBefore(source, { eol, change, texts: first.texts }));
  for (const entry of removed) {
    const start = previousLineEnd(source, commentStart(source, entry.start, 0));
    const end = lineEnd(source, afterComma(entry));
    splices.push({ start, end, text: '', owner });
  }
  return splices;
}

function commaAfter(
  { comma, contentEnd }: Entry,
  { owner, needsComma }: { owner: ParsedNode; needsComma: boolean },
): Splice[] {
  if (needsComma === (comma !== undefined)) return [];
  if (comma === undefined) return [{ start: contentEnd, end: contentEnd, text: ',', owner }];
  return [{ start: comma, end: comma + 1, text: '', owner }];
}

function linesBefore(
  source: string,
  { eol, change, texts }: { eol: string; change: FlowChange; texts: readonly string[] },
): Splice[] {
  const { start } = entryAt(change.entries, 0);
  const indent = ' '.repeat(column(source, start));
  const at = previousLineEnd(source, lineStart(source, start));
  const text = texts.map((item) => `${eol}${indent}${item},`).join('');
  return [{ start: at, end: at, text, owner: change.owner }];
}

/** For collections with several entries on a line. */
function changeInline({ source }: EditTree, change: FlowChange): Splice[] {
  const { owner, entries, removed } = change;
  const splices = change.added.map(({ after, texts }): Splice => {
    if (after !== undefined) {
      const text = texts.map((item) => `, ${item}`).join('');
      return { start: after.contentEnd, end: after.contentEnd, text, owner };
    }
    const { start } = entries.find((entry) => !removed.has(entry)) ?? entryAt(entries, 0);
    return { start, end: start, text: texts.map((item) => `${item}, `).join(''), owner };
  });
  for (let index = 0; index < entries.length; index++) {
    if (!removed.has(entryAt(entries, index))) continue;
    const first = index;
    while (index + 1 < entries.length && removed.has(entryAt(entries, index + 1))) index++;
    if (commentIn(source, entries.slice(Math.max(0, first - 1), index + 2))) {
      throw new OverlapError(owner);
    }
    splices.push({ ...runOf(entries, first, index), text: '', owner });
  }
  return splices;
}

function commentIn(source: string, entries: readonly Entry[]): boolean {
  return entries.some((entry, index) => {
    const next = entries[index + 1];
    return next !== undefined && source.slice(entry.contentEnd, next.start).includes('#');
  });
}

/**
 * Range of removed entries up to the next one; at the end of the collection, from the one before.
 */
function runOf(
  entries: readonly Entry[],
  first: number,
  last: number,
): { start: number; end: number } {
  const next = entries[last + 1];
  if (next !== undefined) return { start: entryAt(entries, first).start, end: next.start };
  return { start: entryAt(entries, first - 1).contentEnd, end: entryAt(entries, last).contentEnd };
}

/** True if only space and a comment follow on the line. */
function endsLine(source: string, offset: number): boolean {
  return /^[ \t]*(?:#|$)/.test(source.slice(offset, lineEnd(source, offset)));
}
