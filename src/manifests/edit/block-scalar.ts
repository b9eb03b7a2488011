/**
 * New text for a literal (`|`) or folded (`>`) scalar that keeps its header, its indentation and
 * the source of every line that did not change.
 */
import type { CST, Scalar } from 'yaml';
import { blockScalarBody, contentLineEnd } from './slots.ts';
import { isBlankLine, nextLine, type Splice } from './splice.ts';
import type { EditTree } from './tree.ts';

/** Undefined where the style cannot hold the text. */
export function editBlockScalar(
  tree: EditTree,
  node: Scalar.Parsed,
  { before, after }: { before: string; after: string },
): Splice[] | undefined {
  if (UNPRINTABLE.test(after)) return undefined;
  const block = readBlock(tree, node.srcToken as CST.BlockScalar);
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

/** What only an escape can hold, tabs and line ends aside. */
const UNPRINTABLE = /[^\n\t\P{C}]|[\p{Zl}\p{Zp}]/u;
/** Lines of nothing but space at either end, which readers treat differently. */
const LOOSE_ENDS = /^\n*[ \t]+(?:\n|$)|\n[ \t]+$/;

interface Block {
  readonly mode: string;
  readonly header: string;
  readonly offset: number;
  /** Where the line of the header ends. */
  readonly headerLineEnd: number;
  /** Where the last line ends. */
  readonly bodyEnd: number;
  readonly lines: readonly string[];
  readonly indent: number;
  readonly parentIndent: number;
}

function readBlock({ source, style }: EditTree, token: CST.BlockScalar): Block {
  const header = token.props[0] as CST.SourceToken;
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
  /** Without the line ends at its end. */
  readonly core: string;
  readonly ends: number;
}

function split(text: string): Text {
  const core = text.replace(/\n+$/, '');
  return { core, ends: text.length - core.length };
}

/** The header with the chomping that the line ends of the text need; undefined where none will do. */
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

/** A digit where the first line begins with a space; undefined where no digit can say it. */
function neededIndicator(block: Block, core: string): string | undefined {
  if (!/^\n*[ \t]/.test(core)) return '';
  const width = block.indent - block.parentIndent;
  return width >= 1 && width <= 9 ? String(width) : undefined;
}

/** Lines of a literal are the lines of its text: those that stay keep their source. */
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

/** A paragraph longer than this is broken, unless the scalar has longer lines already. */
const FOLD_WIDTH = 80;

/**
 * Keeps the lines whose text still begins and ends the new text, and folds what is between. Only
 * for text without lines that begin with space: those do not fold.
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

/** The text that folded lines stand for. */
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

/** The lines between kept ones; the separators at the inner ends become line ends and blank lines. */
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
    if (paragraph !== '') lines.push(...wrapped(paragraph, width));
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
