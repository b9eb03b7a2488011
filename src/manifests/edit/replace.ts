/**
 * Replaces the value of a slot. Anchors and comments around the value stay, and so does a tag that
 * still fits; comments inside a collection are removed with it.
 */
import { isAlias, isCollection, isSeq, type ParsedNode } from 'yaml';
import { isRecord, type JsonValue } from '../../apimachinery/index.ts';
import {
  blockLines,
  compactValue,
  flowText,
  isEmptyCollection,
  pairValue,
  type Rendered,
} from '../render.ts';
import {
  blockScalarBody,
  blockScalarHeader,
  contentLineEnd,
  propsEnd,
  type Slot,
  tailEnd,
  valueEnd,
  type WrittenSlot,
} from './slots.ts';
import { column, lineEnd, lineStart, previousLineEnd, type Splice } from './splice.ts';
import type { EditTree } from './tree.ts';

export interface Replacement {
  readonly slot: Slot;
  readonly desired: JsonValue;
  readonly owner: ParsedNode;
  /** An anchor to put before the value. */
  readonly newAnchor?: string | undefined;
  /** Set inside flow collections that are written as JSON. */
  readonly json?: boolean;
}

export function replaceValue(tree: EditTree, replacement: Replacement): Splice[] {
  const { slot, owner } = replacement;
  const splices = tagBeforeAnchor(slot, owner);
  const value = render(tree, replacement);
  if (!isWritten(slot)) return [...splices, ...fillAbsent(tree, replacement, value)];
  const present = { ...replacement, slot, value };
  if (slot.kind === 'root') return [...splices, replaceRoot(tree, present)];
  return [...splices, ...replacePresent(tree, present)];
}

function isWritten(slot: Slot): slot is WrittenSlot {
  return slot.node !== null;
}

/**
 * End of the text that stays before the value: its anchor or its indicator. A tag after that is
 * removed.
 */
function keptEnd({ anchor, indicatorEnd }: Slot): number {
  return anchor === undefined ? indicatorEnd : anchor.offset + anchor.source.length;
}

function tagBeforeAnchor({ anchor, tag }: Slot, owner: ParsedNode): Splice[] {
  if (anchor === undefined || tag === undefined || tag.offset > anchor.offset) return [];
  return [{ start: tag.offset, end: anchor.offset, text: '', owner }];
}

function render({ source, style }: EditTree, replacement: Replacement): Rendered {
  const { slot, desired, newAnchor, json = false } = replacement;
  const prefix = newAnchor === undefined ? '' : `&${newAnchor} `;
  if (slot.kind === 'flow') return { head: prefix + flowText(desired, { json }), tail: [] };
  if (staysFlow(slot, desired)) return { head: prefix + flowText(desired, { json }), tail: [] };
  const isBlock = typeof desired === 'object' && desired !== null && !isEmptyCollection(desired);
  if (slot.kind === 'pair' || !isBlock) {
    const { head, tail } = pairValue(desired, { column: slot.column, style });
    return { head: (prefix + head).trimEnd(), tail };
  }
  if (slot.anchor !== undefined || newAnchor !== undefined) {
    // After an anchor on the line of the dash, the first key would take the anchor.
    return { head: prefix.trimEnd(), tail: blockLines(desired, slot.column + 2, style) };
  }
  return compactValue(desired, compactColumn(source, slot), style);
}

/** A nonempty flow collection is replaced by another one in its style. */
function staysFlow({ node }: Slot, desired: JsonValue): boolean {
  if (!isCollection(node) || node.flow !== true || node.items.length === 0) return false;
  return isSeq(node) ? Array.isArray(desired) : isRecord(desired);
}

/** Column of a collection on the line of its dash: that of the present value, if it is there. */
function compactColumn(source: string, slot: Slot): number {
  const { node, column: dash } = slot;
  if (node === null) return dash + 2;
  const gap = source.slice(slot.indicatorEnd, node.range[0]);
  return /^ +$/.test(gap) ? column(source, node.range[0]) : dash + 2;
}

function lines(tree: EditTree, tail: readonly string[]): string {
  return tail.map((line) => tree.eol + line).join('');
}

/** Fills an empty slot: the value goes after the indicator, before any comment. */
function fillAbsent(tree: EditTree, { slot, owner }: Replacement, value: Rendered): Splice[] {
  const start = keptEnd(slot);
  const end = Math.max(start, propsEnd(slot));
  const head = value.head === '' ? '' : ` ${value.head}`;
  if (slot.kind === 'flow' || slot.hasIndicator) {
    const text = slot.hasIndicator ? head : `:${head}`;
    const at = lineEnd(tree.source, end);
    return [
      { start, end, text, owner },
      { start: at, end: at, text: lines(tree, value.tail), owner },
    ];
  }
  const at = lineEnd(tree.source, end);
  const colon = `${tree.eol}${' '.repeat(slot.column)}:${head}`;
  return [{ start: at, end: at, text: colon + lines(tree, value.tail), owner }];
}

interface Present extends Replacement {
  readonly slot: WrittenSlot;
  readonly value: Rendered;
}

function replacePresent(tree: EditTree, present: Present): Splice[] {
  const { source } = tree;
  const { slot, value } = present;
  const { node } = slot;
  const sameLine = !source.slice(keptEnd(slot), node.range[0]).includes('\n');
  if (isCollection(node) && node.flow !== true) {
    return sameLine ? replaceCompact(tree, present) : replaceBelow(tree, present);
  }
  if (!sameLine && (value.head === '' || value.tail.length > 0)) return replaceBelow(tree, present);
  return replaceInline(tree, present);
}

/** Replaces a value that begins on the line of its indicator; comments after it stay. */
function replaceInline(tree: EditTree, { slot, value, owner }: Present): Splice[] {
  const token = slot.node.srcToken;
  const end = valueEnd(slot);
  const text = inlineText(tree, slot, value.head);
  if (token?.type !== 'block-scalar') {
    const at = lineEnd(tree.source, end);
    return [
      { ...text, end, owner },
      { start: at, end: at, text: lines(tree, value.tail), owner },
    ];
  }
  const header = blockScalarHeader(token);
  const bodyStart = blockScalarBody(token);
  const headerLineEnd = contentLineEnd(tree.source, bodyStart);
  const bodyEnd = contentLineEnd(tree.source, end);
  return [
    { ...text, end: header.offset + header.source.length, owner },
    { start: headerLineEnd, end: bodyEnd, text: lines(tree, value.tail), owner },
  ];
}

/** Keeps the space before the value if a value follows, and drops it otherwise. */
function inlineText(
  { source }: EditTree,
  slot: WrittenSlot,
  head: string,
): { start: number; text: string } {
  const [valueStart] = slot.node.range;
  const kept = keptEnd(slot);
  if (head === '') return { start: kept, text: '' };
  const gap = source.slice(kept, valueStart);
  // The first item of a flow list has no indicator before its tag.
  if (slot.kind === 'flow' && kept === slot.tag?.offset) return { start: kept, text: head };
  const clean = slot.kind === 'flow' ? gap.trim() === '' : /^[ \r\n]*$/.test(gap);
  return clean ? { start: valueStart, text: head } : { start: kept, text: ` ${head}` };
}

/** Replaces a collection that begins on the line of its dash. */
function replaceCompact(tree: EditTree, { slot, value, owner }: Present): Splice[] {
  const { source } = tree;
  const end = tailEnd(source, contentLineEnd(source, valueEnd(slot)), slot.column);
  const { start, text } = inlineText(tree, slot, value.head);
  return [{ start, end, text: text + lines(tree, value.tail), owner }];
}

/** Replaces a value on the lines below its indicator. */
function replaceBelow(tree: EditTree, { slot, value, owner }: Present): Splice[] {
  const { source } = tree;
  const kept = keptEnd(slot);
  const tag = propsEnd(slot) > kept && slot.tag !== undefined ? propsEnd(slot) : kept;
  const head = value.head === '' ? '' : ` ${value.head}`;
  const isBlock = isCollection(slot.node) && slot.node.flow !== true;
  // Comments above a scalar stay above the new value, unless that begins further up.
  const above =
    isBlock || value.head !== '' ? tag : previousLineEnd(source, valueLine(source, slot));
  const start = lineEnd(source, above);
  const end = tailEnd(source, contentLineEnd(source, valueEnd(slot)), slot.column);
  return [
    { start: kept, end: tag, text: head, owner },
    { start, end, text: lines(tree, value.tail), owner },
  ];
}

function valueLine(source: string, { node }: WrittenSlot): number {
  return lineStart(source, node.range[0]);
}

/** The root: on the lines below `---`, or from its own first line on. */
function replaceRoot(tree: EditTree, { slot, desired, owner }: Present): Splice {
  const { source, eol, style } = tree;
  const { node } = slot;
  const first = Math.min(
    ...[slot.anchor?.offset, slot.tag?.offset, node.range[0]].filter((at) => at !== undefined),
  );
  const isBlock = typeof desired === 'object' && desired !== null && !isEmptyCollection(desired);
  const text = isBlock
    ? blockLines(desired, 0, style).join(eol)
    : pairValue(desired, { column: 0, style }).head;
  const end = isBlock || !isAlias(node) ? contentLineEnd(source, valueEnd(slot)) : valueEnd(slot);
  const onMarkerLine = lineStart(source, first) < slot.indicatorEnd && slot.indicatorEnd <= first;
  const marked = onMarkerLine && source.slice(lineStart(source, first), first).startsWith('---');
  if (marked) return { start: slot.indicatorEnd, end, text: eol + text, owner };
  return { start: lineStart(source, first), end, text, owner };
}
