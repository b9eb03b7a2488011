/**
 * Positions in a syntax tree: the place of each value of a document, the bytes of an entry of a map
 * or a list, and places for values that do not exist yet.
 */
import {
  type CST,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Pair,
  type ParsedNode,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { isMergeKey } from '../evaluate.ts';
import { column, commentColumn, isBlankLine, lineEnd, nextLine } from './splice.ts';

/** A place that holds a value, or could. */
export interface Slot {
  readonly kind: 'root' | 'pair' | 'item' | 'flow';
  /** Null if nothing is written. */
  readonly node: ParsedNode | null;
  /** Column of the key or the dash; meaningless in flow collections. */
  readonly column: number;
  /** After the `:`, the `-` or the `---`; after the key if it has no `:`. */
  readonly indicatorEnd: number;
  /** False for a key without a `:`. */
  readonly hasIndicator: boolean;
  readonly anchor: CST.SourceToken | undefined;
  readonly tag: CST.SourceToken | undefined;
}

/** A pair of a map or an item of a list. */
export interface Entry {
  readonly slot: Slot;
  /** The key if it is a string; undefined for items and merge keys. */
  readonly key: ParsedNode | undefined;
  readonly isMerge: boolean;
  /** Start of its `?`, key or dash. */
  readonly start: number;
  /** End of its last token. */
  readonly contentEnd: number;
  /** In block collections: the end of its last line, including a comment on that line. */
  readonly end: number;
  /** `end`, plus the comments below that are indented deeper than the entry and so belong to it. */
  readonly tail: number;
  /** In flow collections: the comma after it. */
  readonly comma: number | undefined;
}

/** A slot with a value. */
export interface WrittenSlot<N extends ParsedNode = ParsedNode> extends Slot {
  readonly node: N;
}

export type MapNode = YAMLMap.Parsed<ParsedNode, ParsedNode | null>;
export type SeqNode = YAMLSeq.Parsed<ParsedNode>;

export function isMapNode(node: unknown): node is MapNode {
  return isMap(node);
}

export function isSeqNode(node: unknown): node is SeqNode {
  return isSeq(node);
}

export function isFlow(node: MapNode | SeqNode): boolean {
  return node.flow === true;
}

/** Null for a value without source after its `:` or `-`. */
function written(node: ParsedNode | null): ParsedNode | null {
  if (!isScalar(node) || node.type !== 'PLAIN' || node.source !== '') return node;
  return null;
}

/** Slot of the whole document: after its `---`, or from its start. */
export function rootSlot(token: CST.Document | undefined, node: ParsedNode | null): Slot {
  const marker = token?.start.find(({ type }) => type === 'doc-start');
  return {
    kind: 'root',
    node: node === null ? null : written(node),
    column: -1,
    indicatorEnd: marker === undefined ? 0 : marker.offset + marker.source.length,
    hasIndicator: true,
    ...propsOf(token?.start ?? [], 0),
  };
}

export function entriesOf(source: string, node: MapNode | SeqNode): Entry[] {
  return isSeqNode(node) ? seqEntries(source, node) : mapEntries(source, node);
}

/** Throws for an index outside the collection. */
export function entryAt(entries: readonly Entry[], index: number): Entry {
  const entry = entries[index];
  if (entry === undefined) throw new RangeError(`the collection has no entry ${index}`);
  return entry;
}

function mapEntries(source: string, node: MapNode): Entry[] {
  const flow = isFlow(node);
  const commas = commasBehind(tokenOf(node));
  return node.items.map((pair) => {
    const token = (pair as Pair & { srcToken: CST.CollectionItem }).srcToken;
    const start = pairStart(token);
    const slot = pairSlot(token, {
      node: pair.value,
      flow,
      column: flow ? 0 : column(source, start),
    });
    const isMerge = isMergeKey(pair.key);
    const comma = commas.get(token);
    return { ...extent(source, { slot, start, token }), key: pair.key, isMerge, comma };
  });
}

function seqEntries(source: string, node: SeqNode): Entry[] {
  const token = tokenOf(node);
  const items = token.items.filter((item) => holdsItem(token, item));
  const commas = commasBehind(token);
  return node.items.map((value, index) => {
    const item = items[index] as CST.CollectionItem;
    const flow = token.type === 'flow-collection';
    const start = flow ? pairStart(item) : dashOf(item).offset;
    const slot = itemSlot(item, { node: value, flow, column: flow ? 0 : column(source, start) });
    const comma = commas.get(item);
    return {
      ...extent(source, { slot, start, token: item }),
      key: undefined,
      isMerge: false,
      comma,
    };
  });
}

type CollectionToken = CST.BlockMap | CST.BlockSequence | CST.FlowCollection;

/** The parser keeps tokens for every document that is edited. */
function tokenOf({ srcToken }: MapNode | SeqNode): CollectionToken {
  if (srcToken !== undefined && 'items' in srcToken) return srcToken;
  throw new TypeError('the collection has no source token');
}

/** False for an item that only holds the comments after the last one. */
function holdsItem(token: CollectionToken, item: CST.CollectionItem): boolean {
  if (token.type === 'block-seq') return item.start.some(({ type }) => type === 'seq-item-ind');
  if (item.sep !== undefined || item.value !== undefined) return true;
  return item.start.some(({ type }) => PROPERTIES.has(type) || type === 'explicit-key-ind');
}

const PROPERTIES: ReadonlySet<string> = new Set(['anchor', 'tag']);
const SPACE: ReadonlySet<string> = new Set(['space', 'comment', 'newline', 'comma']);

function dashOf(item: CST.CollectionItem): CST.SourceToken {
  const dash = item.start.find(({ type }) => type === 'seq-item-ind');
  if (dash === undefined) throw new TypeError('the item has no dash');
  return dash;
}

function pairStart({ start, key, sep, value }: CST.CollectionItem): number {
  const first = start.find(({ type }) => !SPACE.has(type)) ?? key ?? sep?.[0] ?? value;
  return first?.offset ?? 0;
}

interface SlotContext {
  readonly node: ParsedNode | null;
  readonly flow: boolean;
  readonly column: number;
}

function pairSlot(token: CST.CollectionItem, context: SlotContext): Slot {
  const sep = token.sep ?? [];
  const at = sep.findIndex(({ type }) => type === 'map-value-ind');
  const colon = sep[at];
  const keyEnd = token.key ? tokenEnd(token.key) : behind(token.start);
  return {
    kind: context.flow ? 'flow' : 'pair',
    node: written(context.node),
    column: context.column,
    indicatorEnd: colon === undefined ? keyEnd : colon.offset + colon.source.length,
    hasIndicator: colon !== undefined,
    ...propsOf(sep, at + 1),
  };
}

function itemSlot(token: CST.CollectionItem, context: SlotContext): Slot {
  const at = token.start.findIndex(({ type }) => type === 'seq-item-ind');
  const dash = token.start[at];
  return {
    kind: context.flow ? 'flow' : 'item',
    node: written(context.node),
    column: context.column,
    indicatorEnd: dash === undefined ? pairStart(token) : dash.offset + dash.source.length,
    hasIndicator: true,
    ...propsOf(token.start, at + 1),
  };
}

function propsOf(tokens: readonly CST.SourceToken[], from: number): Pick<Slot, 'anchor' | 'tag'> {
  const props = tokens.slice(from);
  return {
    anchor: props.find(({ type }) => type === 'anchor'),
    tag: props.find(({ type }) => type === 'tag'),
  };
}

/** End of the anchor and the tag of a value, or of its indicator. */
export function propsEnd({ anchor, tag, indicatorEnd }: Slot): number {
  const last = anchor && tag ? (anchor.offset > tag.offset ? anchor : tag) : (anchor ?? tag);
  return last === undefined ? indicatorEnd : last.offset + last.source.length;
}

function commasBehind(token: CollectionToken): ReadonlyMap<CST.CollectionItem, number | undefined> {
  if (token.type !== 'flow-collection') return new Map();
  return new Map(
    token.items.map((item, index) => {
      const next = token.items[index + 1]?.start.find(({ type }) => type === 'comma');
      return [item, next?.offset] as const;
    }),
  );
}

function extent(
  source: string,
  { slot, start, token }: { slot: Slot; start: number; token: CST.CollectionItem },
): Omit<Entry, 'key' | 'isMerge' | 'comma'> {
  const contentEnd = Math.max(itemEnd(token), propsEnd(slot));
  // Flow collections do not follow lines, and one line may have very many entries.
  if (slot.kind === 'flow') return { slot, start, contentEnd, end: contentEnd, tail: contentEnd };
  const end = contentLineEnd(source, contentEnd);
  return { slot, start, contentEnd, end, tail: tailEnd(source, end, slot.column) };
}

/** End of the last line of content; a block scalar includes its own line end. */
export function contentLineEnd(source: string, contentEnd: number): number {
  if (source[contentEnd - 1] !== '\n') return lineEnd(source, contentEnd);
  return source[contentEnd - 2] === '\r' ? contentEnd - 2 : contentEnd - 1;
}

/** Skips comments that are indented deeper than `column`, and blank lines before them. */
export function tailEnd(source: string, end: number, column: number): number {
  let tail = end;
  for (let line = nextLine(source, end); line < source.length; line = nextLine(source, line)) {
    if (isBlankLine(source, line)) continue;
    if (commentColumn(source, line) <= column) break;
    tail = lineEnd(source, line);
  }
  return tail;
}

/** End of a value, without space and comments after it. */
export function valueEnd(slot: Slot): number {
  const { node } = slot;
  if (node === null) return propsEnd(slot);
  return isAlias(node) || node.srcToken === undefined ? node.range[1] : tokenEnd(node.srcToken);
}

function tokenEnd(token: CST.Token): number {
  switch (token.type) {
    case 'block-map':
    case 'block-seq':
      return token.items.reduce((end, item) => Math.max(end, itemEnd(item)), token.offset);
    case 'flow-collection': {
      const close = token.end[0];
      return close === undefined ? token.offset + 1 : close.offset + close.source.length;
    }
    case 'block-scalar':
      return blockScalarBody(token) + token.source.length;
    case 'document':
    case 'doc-end':
      return token.offset;
    default:
      return token.offset + token.source.length;
  }
}

function itemEnd({ start, key, sep, value }: CST.CollectionItem): number {
  if (value) return tokenEnd(value);
  const separator = behind(sep ?? []);
  if (separator > 0) return separator;
  return key ? tokenEnd(key) : behind(start);
}

/** The indicator of a block scalar, such as `|-`. */
export function blockScalarHeader({ props }: CST.BlockScalar): { offset: number; source: string } {
  const [header] = props;
  if (header !== undefined && 'source' in header) return header;
  throw new TypeError('the block scalar has no header');
}

/** Start of the lines of a block scalar. */
export function blockScalarBody(token: CST.BlockScalar): number {
  return token.props.reduce(
    (end, prop) => end + ('source' in prop ? prop.source.length : 0),
    token.offset,
  );
}

/** End of the last token that is neither space nor a comment; 0 if there is none. */
function behind(tokens: readonly CST.SourceToken[]): number {
  const last = tokens.findLast(({ type }) => !SPACE.has(type));
  return last === undefined ? 0 : last.offset + last.source.length;
}
