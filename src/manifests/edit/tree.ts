/** A document to edit: its syntax tree, its values, its aliases and anchors. */
import { isCollection, isScalar, isSeq, type ParsedNode, visit } from 'yaml';
import type { JsonValue } from '../../apimachinery/index.ts';
import { compose, type Flaw } from '../compose.ts';
import { evaluate } from '../evaluate.ts';
import { type BlockStyle, DEFAULT_STYLE } from '../render.ts';
import { isMapNode, isSeqNode, rootSlot, type Slot } from './slots.ts';
import { column, lineBreak } from './splice.ts';

export interface EditTree {
  readonly source: string;
  readonly root: Slot;
  readonly value: JsonValue | undefined;
  readonly flaws: readonly Flaw[];
  /** Value of every node, without keys. */
  readonly values: ReadonlyMap<ParsedNode, JsonValue>;
  /** The node that each alias refers to. */
  readonly targets: ReadonlyMap<ParsedNode, ParsedNode>;
  /** Offsets of the aliases of each anchor name; empty if the document has no alias. */
  readonly aliases: ReadonlyMap<string, readonly number[]>;
  /** Parent collection of each node. */
  readonly parents: ReadonlyMap<ParsedNode, ParsedNode>;
  readonly style: BlockStyle;
  readonly eol: string;
}

export function readTree(source: string): EditTree {
  const { contents, token, flaws } = compose(source, { tokens: true });
  const evaluation = evaluate(flaws.length === 0 ? contents : null, { keepValues: true });
  let parents: ReadonlyMap<ParsedNode, ParsedNode> | undefined;
  return {
    source,
    root: rootSlot(token, contents),
    value: evaluation.value,
    flaws: [...flaws, ...evaluation.flaws],
    values: evaluation.values,
    targets: evaluation.targets,
    aliases: aliasesOf(contents, evaluation.targets),
    // Only an edit that fails needs them.
    get parents() {
      parents ??= parentsOf(contents);
      return parents;
    },
    style: styleOf(source, contents),
    eol: lineBreak(source),
  };
}

function aliasesOf(
  contents: ParsedNode | null,
  targets: ReadonlyMap<ParsedNode, ParsedNode>,
): ReadonlyMap<string, readonly number[]> {
  const aliases = new Map<string, number[]>();
  if (contents === null || targets.size === 0) return aliases;
  visit(contents, {
    Alias: (_, alias) => {
      const offsets = aliases.get(alias.source) ?? [];
      offsets.push(alias.range?.[0] ?? 0);
      aliases.set(alias.source, offsets);
    },
  });
  return aliases;
}

function parentsOf(contents: ParsedNode | null): ReadonlyMap<ParsedNode, ParsedNode> {
  const parents = new Map<ParsedNode, ParsedNode>();
  const walk = (node: ParsedNode) => {
    for (const child of children(node)) {
      parents.set(child, node);
      walk(child);
    }
  };
  if (contents !== null) walk(contents);
  return parents;
}

/** Values of a collection, without keys. */
export function children(node: ParsedNode): ParsedNode[] {
  if (isSeqNode(node)) return node.items;
  if (!isMapNode(node)) return [];
  return node.items.flatMap(({ value }) => (value === null ? [] : [value]));
}

/** Indentation of the document, from its first map and its first list below a key. */
function styleOf(source: string, contents: ParsedNode | null): BlockStyle {
  const found: { step?: number; listStep?: number } = {};
  if (contents === null) return DEFAULT_STYLE;
  visit(contents, {
    Pair: (_, { key, value }) => {
      if (found.step !== undefined && found.listStep !== undefined) return visit.BREAK;
      if (!isScalar(key) || !isCollection(value) || value.flow) return undefined;
      const keyStart = key.range?.[0] ?? 0;
      const valueStart = value.range?.[0] ?? 0;
      if (!source.slice(keyStart, valueStart).includes('\n')) return undefined;
      const step = column(source, valueStart) - column(source, keyStart);
      if (isSeq(value)) found.listStep ??= Math.max(0, step);
      else if (step > 0) found.step ??= step;
      return undefined;
    },
  });
  return { ...DEFAULT_STYLE, ...found };
}

/** The deepest node on a path that the tree contains. */
export function nodeAt(
  root: ParsedNode | null,
  path: readonly (string | number)[],
): ParsedNode | null {
  let node = root;
  for (const step of path) {
    const next = childAt(node, step);
    if (next === undefined || next === null) return node;
    node = next;
  }
  return node;
}

function childAt(node: ParsedNode | null, step: string | number): ParsedNode | null | undefined {
  if (isSeqNode(node)) return typeof step === 'number' ? node.items[step] : undefined;
  if (!isMapNode(node)) return undefined;
  return node.items.find(({ key }) => isScalar(key) && key.source === step)?.value;
}

export function lastBlockScalar(node: ParsedNode | null): ParsedNode | undefined {
  if (isCollection(node)) {
    const last = node.flow === true ? undefined : children(node).at(-1);
    return last === undefined ? undefined : lastBlockScalar(last);
  }
  const isBlock = isScalar(node) && (node.type === 'BLOCK_LITERAL' || node.type === 'BLOCK_FOLDED');
  return isBlock ? node : undefined;
}
