/**
 * Changes of one value in a text of YAML. The smallest splice that gives the wanted value is taken, so that
 * comments and the style of other lines stay; where none does, the document is written anew.
 */
import {
  isCollection,
  isPair,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  parseDocument,
  Scalar,
  stringify,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';

export type Path = readonly (string | number)[];

/** Undefined removes the value, and the maps above it that would be empty. */
export function withValue(text: string, path: Path, value: unknown): string {
  const at = value === undefined ? emptied(text, path) : path;
  const document = parseDocument(text);
  if (document.errors.length > 0) return text;
  if (value === undefined) document.deleteIn(at);
  else document.setIn(at, value);
  const wanted = JSON.stringify(document.toJS());
  const spliced = spliceAt(text, at, value);
  return spliced !== undefined && meaning(spliced) === wanted
    ? spliced
    : document.toString({ lineWidth: 0 });
}

function meaning(text: string): string | undefined {
  const document = parseDocument(text);
  return document.errors.length > 0 ? undefined : JSON.stringify(document.toJS());
}

/** The longest part of the path whose removal leaves no empty map or list above `spec`. */
function emptied(text: string, path: Path): Path {
  const document = parseDocument(text);
  let found = path;
  while (found.length > 2) {
    const above = document.getIn(found.slice(0, -1), true);
    if (!isCollection(above) || above.items.length !== 1) break;
    found = found.slice(0, -1);
  }
  return found;
}

function spliceAt(text: string, path: Path, value: unknown): string | undefined {
  const document = parseDocument(text);
  const step = path.at(-1);
  const above = path.slice(0, -1);
  const parent = above.length === 0 ? document.contents : document.getIn(above, true);
  if (step === undefined) return undefined;
  if (!isCollection(parent) || parent.items.length === 0) {
    if (value === undefined || above.length === 0) return undefined;
    return spliceAt(text, above, typeof step === 'number' ? [value] : { [step]: value });
  }
  const of = { text, parent: parent as YAMLMap | YAMLSeq, step };
  if (value === undefined) return without(of);
  const node = document.getIn(path, true);
  return node === undefined ? inserted(of, value) : replaced(of, node as Node, value);
}

interface Splice {
  readonly text: string;
  readonly parent: YAMLMap | YAMLSeq;
  readonly step: string | number;
}

type Range = readonly [number, number];

function rangeOf(node: unknown): Range | undefined {
  const range = (node as Node | null | undefined)?.range;
  return range === undefined || range === null ? undefined : [range[0], range[1]];
}

/** From the key of a pair, or from the item, to the end of the value. */
function extentOf(item: unknown): Range | undefined {
  if (!isPair(item)) return rangeOf(item);
  const [from] = rangeOf(item.key) ?? [];
  const [, to] = rangeOf(item.value) ?? rangeOf(item.key) ?? [];
  return from === undefined || to === undefined ? undefined : [from, to];
}

function indexOf({ parent, step }: Splice): number {
  if (isSeq(parent)) return Number(step);
  return parent.items.findIndex(
    (item) => isPair(item) && isScalar(item.key) && String(item.key.value) === String(step),
  );
}

function without(of: Splice): string | undefined {
  const { text, parent } = of;
  const index = indexOf(of);
  const extent = extentOf(parent.items[index]);
  if (extent === undefined) return undefined;
  const [from, to] = extent;
  if (parent.flow === true) {
    const next = extentOf(parent.items[index + 1]);
    const before = extentOf(parent.items[index - 1]);
    return next === undefined
      ? text.slice(0, before?.[1] ?? from) + text.slice(to)
      : text.slice(0, from) + text.slice(next[0]);
  }
  const start = text.lastIndexOf('\n', from - 1) + 1;
  return text.slice(0, start) + text.slice(Math.min(lineEnd(text, to) + 1, text.length));
}

/** End of the line with the last character before `to` that is no white space. */
function lineEnd(text: string, to: number): number {
  const last = text.slice(0, to).trimEnd().length;
  const end = text.indexOf('\n', last);
  return end < 0 ? text.length : end;
}

function inserted({ text, parent, step }: Splice, value: unknown): string | undefined {
  const [first] = extentOf(parent.items[0]) ?? [];
  const [, last] = extentOf(parent.items.at(-1)) ?? [];
  if (first === undefined || last === undefined) return undefined;
  const isItem = isSeq(parent);
  if (parent.flow === true) {
    const added = isItem ? inFlow(value) : `${step}: ${inFlow(value)}`;
    return `${text.slice(0, last)}, ${added}${text.slice(last)}`;
  }
  const start = text.lastIndexOf('\n', first - 1) + 1;
  const indent = isItem ? text.indexOf('-', start) - start : first - start;
  const added = stringify(isItem ? [value] : { [step]: value }, OPTIONS).trimEnd();
  const end = lineEnd(text, last);
  return `${text.slice(0, end)}\n${indented(added, indent)}${text.slice(end)}`;
}

function replaced(of: Splice, node: Node, value: unknown): string | undefined {
  const { text, parent } = of;
  const range = rangeOf(node);
  if (range === undefined) return undefined;
  const [from, to] = range;
  if (isScalar(node) && isLeaf(value)) {
    const written = scalarLike(node, value);
    return written.includes('\n') ? undefined : text.slice(0, from) + written + text.slice(to);
  }
  if (isCollection(node) && node.flow === true && node.items.length > 0) {
    return text.slice(0, from) + inFlow(value) + text.slice(to);
  }
  const pair = parent.items[indexOf(of)];
  const [key, keyEnd] = (isPair(pair) && rangeOf((pair as Pair).key)) || [];
  if (key === undefined || keyEnd === undefined || parent.flow === true) return undefined;
  const indent = key - text.lastIndexOf('\n', key - 1) - 1;
  const written = stringify({ [of.step]: value }, OPTIONS).trimEnd();
  const end = isCollection(node) && node.flow !== true ? lineEnd(text, to) : to;
  return text.slice(0, key) + indented(written, indent).trimStart() + text.slice(end);
}

const OPTIONS = { lineWidth: 0, indentSeq: true } as const;

function isLeaf(value: unknown): boolean {
  return typeof value !== 'object' || value === null;
}

/** In the quotes of the value before; those of an empty text mean nothing. */
function scalarLike(node: Scalar, value: unknown): string {
  const isQuoted =
    node.value !== '' && (node.type === Scalar.QUOTE_DOUBLE || node.type === Scalar.QUOTE_SINGLE);
  const style = isQuoted && node.type !== undefined ? { defaultStringType: node.type } : {};
  return stringify(value, { ...OPTIONS, ...(style as object) }).trimEnd();
}

function inFlow(value: unknown): string {
  return stringify(value, {
    ...OPTIONS,
    collectionStyle: 'flow',
    flowCollectionPadding: false,
  }).trim();
}

function indented(text: string, columns: number): string {
  const lead = ' '.repeat(columns);
  return text
    .split('\n')
    .map((line) => (line === '' ? line : lead + line))
    .join('\n');
}
