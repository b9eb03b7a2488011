/** Reorders the items of block lists: the lines of an item move with its comments. */
import type { ParsedNode } from 'yaml';
import {
  cloneJson,
  isRecord,
  type JsonValue,
  jsonEqual,
  valueAt,
} from '../../apimachinery/index.ts';
import { commentStart } from './block.ts';
import { isInOrder, matchItems } from './match.ts';
import { entriesOf, isFlow, isMapNode, isSeqNode, type MapNode, type SeqNode } from './slots.ts';
import { apply, inOrder, type Splice, startsLine } from './splice.ts';
import { type EditTree, readTree } from './tree.ts';

/** Nested lists take one pass per level. */
const MAX_PASSES = 20;
/** Characters that all passes after the first may read: each reads the whole document. */
const MAX_READ_AGAIN = 256 * 1024;

/**
 * The document with the items that `desired` keeps in its order; values are still unchanged. A list
 * that cannot be reordered stays.
 */
export function reorder(tree: EditTree, desired: JsonValue): EditTree {
  let current = tree;
  const length = Math.max(1, tree.source.length);
  const passes = Math.min(MAX_PASSES, 1 + Math.floor(MAX_READ_AGAIN / length));
  // An anchor or alias may have another meaning at another place.
  for (let pass = 0; pass < passes && current.aliases.size === 0; pass++) {
    const { root } = current;
    const moves = root.node === null ? [] : [...movesIn(current, root.node, desired)];
    if (moves.length === 0) return current;
    const next = readTree(apply(current.source, inOrder(moves.map(({ splice }) => splice))));
    const expected = cloneJson(current.value ?? null);
    for (const { path, order } of moves) permute(expected, path, order);
    if (next.flaws.length > 0 || !jsonEqual(next.value, expected)) return current;
    current = next;
  }
  return current;
}

interface Move {
  readonly splice: Splice;
  readonly path: readonly (string | number)[];
  /** Former index of each item. */
  readonly order: readonly number[];
}

/** Moves in the outermost lists; nested lists follow in the next pass. */
function* movesIn(
  tree: EditTree,
  node: ParsedNode,
  desired: JsonValue | undefined,
  path: readonly (string | number)[] = [],
): Generator<Move> {
  if (isMapNode(node) && isRecord(desired)) {
    for (const [name, value] of namedValues(node)) {
      yield* movesIn(tree, value, valueAt(desired, [name]), [...path, name]);
    }
    return;
  }
  if (!isSeqNode(node) || !Array.isArray(desired)) return;
  const { items } = node;
  const before = items.map((item) => tree.values.get(item) ?? null);
  const matches = matchItems(before, desired);
  if (!isInOrder(matches)) {
    const order = orderOf(before.length, matches);
    const splice = permutation(tree, node, order);
    if (splice !== undefined) yield { splice, path, order };
    return;
  }
  for (const { from, to } of matches) {
    const item = items[from];
    if (item !== undefined) yield* movesIn(tree, item, desired[to], [...path, from]);
  }
}

function namedValues({ items }: MapNode): [name: string, value: ParsedNode][] {
  return items.flatMap(({ key, value }): [string, ParsedNode][] =>
    value === null || !('source' in key) || key.source === undefined ? [] : [[key.source, value]],
  );
}

/** Removed items stay after the item that they followed. */
function orderOf(count: number, matches: readonly { readonly from: number }[]): number[] {
  const kept = new Set(matches.map(({ from }) => from));
  const followers = (from: number): number[] => {
    const found: number[] = [];
    for (let i = from + 1; i < count && !kept.has(i); i++) found.push(i);
    return found;
  };
  return [...followers(-1), ...matches.flatMap(({ from }) => [from, ...followers(from)])];
}

/** Undefined if an item shares its line with text around the list. */
function permutation(tree: EditTree, node: SeqNode, order: readonly number[]): Splice | undefined {
  if (isFlow(node)) return undefined;
  const { source } = tree;
  const entries = entriesOf(source, node);
  if (!entries.every(({ start }) => startsLine(source, start))) return undefined;
  const parts = entries.map(({ start, tail }, i) => ({
    start: commentStart(source, start, entries[i - 1]?.tail ?? 0),
    end: tail,
  }));
  const [first] = parts;
  const last = parts.at(-1);
  if (first === undefined || last === undefined) return undefined;
  const text = order.map((from, i) => {
    const { start, end } = parts[from] ?? first;
    // Blank lines and separate comments keep their place.
    return source.slice(start, end) + source.slice(parts[i]?.end, parts[i + 1]?.start ?? last.end);
  });
  return { start: first.start, end: last.end, text: text.join(''), owner: node };
}

function permute(
  root: JsonValue,
  path: readonly (string | number)[],
  order: readonly number[],
): void {
  const list = valueAt(root, path);
  if (!Array.isArray(list)) throw new TypeError('the path names no list');
  const before = [...list];
  order.forEach((from, i) => {
    list[i] = before[from] ?? null;
  });
}
