/**
 * New text for a literal (`|`) or folded (`>`) scalar that preserves its header, its indentation
 * and the source of every unchanged line.
 */
import type { CST, Scalar } from 'yaml';
import { blockScalarBody, blockScalarHeader, contentLineEnd } from './slots.ts';
import { isBlankLine, nextLine, type Splice } from './splice.ts';
import type { EditTree } from './tree.ts';

/** Undefined if the style cannot represent the text. */
export function editBlockScalar(
  tree: EditTree,
  node: Scalar.Parsed,
  { before, after }: { before: string; after: string },
): Splice[] | undefined {
  const { srcToken } = node;
  if (srcToken?.type !== 'block-scalar' || UNPRINTABLE.test(after)) return undefined;
  const block = readBlock(tree, srcToken);
  const text = split(after);
  if (text.core === '' || LOOSE_ENDS.test(text.core)) return undefined;
  const header = newHeader(tree, block, text);
  const body =
    block.mode === '|'
      ? literalLines(block, split(before).core, text.core)
      : foldedLines(block, text.core);
  if (header === undefined || body === undefined) return undefined;
  const lines = [...body, ...Array.from({ length: Math.max(0, text.ends - 1) }, () => '')];
  return [
    { start: block.offset, end: block.offset + block.header.length, text: header, owner: node },
    {
      start: block.headerLineEnd,
      end: block.bodyEnd,
      text: lines.map((line) => tree.eol + line).join(''),
      owner: node,
    },
  ];
}

/** Characters that need an escape, except tabs and line ends. */
const UNPRINTABLE = /[^\n\t\P{C}]|[\p{Zl}\p{Zp}]/u;
/** Lines of spaces only, at either end: readers treat them differently. */
const LOOSE_ENDS = /^\n*[ \t]+(?:\n|$)|\n[ \t]+$/;

interface Block {
  readonly mode: string;
  readonly header: string;
  readonly offset: number;
  /** End of the header's line. */
  readonly headerLineEnd: number;
  /** End of the last line. */
  readonly bodyEnd: number;
  readonly lines: readonly string[];
  readonly indent: number;
  readonly parentIndent: number;
}

function readBlock({ source, style }: EditTree, token: CST.BlockScalar): Block {
  const header = blockScalarHeader(token);
  const bodyStart = blockScalarBody(token);
  const headerLineEnd = contentLineEnd(source, bodyStart);
  const bodyEnd = contentLineEnd(source, bodyStart + token.source.length);
  const lines = source
    .slice(bodyStart, Math.max(bodyStart, bodyEnd))
    .split('\n')
    .map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line));
  const explicit = /[1-9]/.exec(header.source)?.[0];
  const first = lines.find((line) => line.trim() !== '');
  const found = first === undefined ? token.indent + style.step : first.search(/[^ ]/);
  return {
    mode: header.source.charAt(0),
    header: header.source,
    offset: header.offset,
    headerLineEnd,
    bodyEnd,
    lines,
    indent: explicit === undefined ? found : token.indent + Number(explicit),
    parentIndent: token.indent,
  };
}

interface Text {
  /** Without the final line ends. */
  readonly core: string;
  readonly ends: number;
}

function split(text: string): Text {
  const core = text.replace(/\n+$/, '');
  return { core, ends: text.length - core.length };
}

/**
 * The header with the chomping indicator that the final line ends need; undefined if there is none.
 */
function newHeader(tree: EditTree, block: Block, text: Text): string | undefined {
  const old = /[-+]/.exec(block.header)?.[0] ?? '';
  let chomp = text.ends === 0 ? '-' : '+';
  if (text.ends === 1) chomp = old === '+' ? '+' : '';
  const blankFollows = isBlankLine(tree.source, nextLine(tree.source, block.bodyEnd));
  if (chomp === '+' && old !== '+' && blankFollows) return undefined;
  const digit = /[1-9]/.exec(block.header)?.[0] ?? neededIndicator(block, text.core);
  if (digit === undefined) return undefined;
  const rest = block.header.slice(1).replace(/[-+0-9]/g, '');
  return block.mode + digit + chomp + rest;
}

/** A digit if the first line begins with a space; undefined if no digit fits. */
function neededIndicator(block: Block, core: string): string | undefined {
  if (!/^\n*[ \t]/.test(core)) return '';
  const width = block.indent - block.parentIndent;
  return width >= 1 && width <= 9 ? String(width) : undefined;
}

/** Lines of a literal are the lines of its text: unchanged ones keep their source. */
function literalLines(block: Block, before: string, after: string): string[] {
  const old = before.split('\n');
  const next = after.split('\n');
  const { head, tail } = unchangedEnds(old, next);
  const fresh = next.slice(head, next.length - tail).map((line) => indented(block, line));
  return [
    ...block.lines.slice(0, head),
    ...fresh,
    ...block.lines.slice(old.length - tail, old.length),
  ];
}

function indented({ indent }: Block, line: string): string {
  return line === '' ? '' : ' '.repeat(indent) + line;
}

function unchangedEnds(
  old: readonly string[],
  next: readonly string[],
): { head: number; tail: number } {
  const shorter = Math.min(old.length, next.length);
  let head = 0;
  while (head < shorter && old[head] === next[head]) head++;
  let tail = 0;
  while (tail < shorter - head && old.at(-1 - tail) === next.at(-1 - tail)) tail++;
  return { head, tail };
}

/** A longer paragraph is broken, unless the scalar has longer lines already. */
const FOLD_WIDTH = 80;

/**
 * Keeps the lines at both ends whose text is unchanged, and folds the text between them. Only for
 * text without lines that begin with a space: those do not fold.
 */
function foldedLines(block: Block, core: string): string[] | undefined {
  if (/^[ \t]|\n[ \t]|[ \t]\n|^\n/.test(core)) return undefined;
  const old = block.lines.map((line) => line.slice(block.indent));
  while (old.at(-1) === '') old.pop();
  if (old.some((line) => /^[ \t]|[ \t]$/.test(line)) || old[0] === '') return undefined;
  const head = keptHead(old, core);
  const tail = keptTail(old.slice(head), core.slice(foldedLength(old.slice(0, head))));
  const from = foldedLength(old.slice(0, head));
  const to = core.length - foldedLength(old.slice(old.length - tail));
  const width = Math.max(FOLD_WIDTH, ...old.map((line) => line.length));
  const lines = [
    ...old.slice(0, head),
    ...foldBetween(core.slice(from, to), { first: head === 0, last: tail === 0, width }),
    ...old.slice(old.length - tail),
  ];
  if (fold(lines) !== core) return undefined;
  const source = [...block.lines.slice(0, head)];
  for (let i = head; i < lines.length - tail; i++) source.push(indented(block, lines[i] ?? ''));
  return [...source, ...block.lines.slice(old.length - tail, old.length)];
}

/** The text of folded lines. */
function fold(lines: readonly string[]): string {
  let text = '';
  let gap = '';
  for (const line of lines) {
    if (line === '') {
      if (gap === '\n') text += '\n';
      gap = '\n';
      continue;
    }
    text += gap + line;
    gap = ' ';
  }
  return text;
}

function foldedLength(lines: readonly string[]): number {
  return fold(lines).length;
}

function keptHead(old: readonly string[], core: string): number {
  for (let count = old.length; count > 0; count--) {
    if (old[count - 1] === '') continue;
    const text = fold(old.slice(0, count));
    if (core.startsWith(text) && /^(?:$|\n| \S)/.test(core.slice(text.length))) return count;
  }
  return 0;
}

function keptTail(old: readonly string[], core: string): number {
  for (let count = old.length; count > 0; count--) {
    if (old[old.length - count] === '') continue;
    const text = fold(old.slice(old.length - count));
    const before = core.slice(0, core.length - text.length);
    if (core.endsWith(text) && /(?:\n|\S )$/.test(before)) return count;
  }
  return 0;
}

/**
 * The lines between unchanged ones; separators at the inner ends become line ends and blank lines.
 */
function foldBetween(
  text: string,
  { first, last, width }: { first: boolean; last: boolean; width: number },
): string[] {
  let middle = text;
  const lines: string[] = [];
  if (!first && middle.startsWith(' ')) middle = middle.slice(1);
  if (!last && middle.endsWith(' ')) middle = middle.slice(0, -1);
  middle.split('\n').forEach((paragraph, index) => {
    if (index > 0) lines.push('');
    if (paragraph !== '') for (const line of wrapped(paragraph, width)) lines.push(line);
  });
  return lines;
}

function wrapped(paragraph: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of paragraph.split(/(?<=\S) (?=\S)/)) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= width) {
      lines[lines.length - 1] = `${line} ${word}`;
    } else lines.push(word);
  }
  return lines;
}
