/**
 * A document as a tree whose maps keep the order of the text, which is the order that the MAC is
 * made in. Plain JSON serves wherever JavaScript keeps that order.
 */
import { isAlias, isMap, isScalar, isSeq, type ParsedNode } from 'yaml';
import { isRecord, type JsonObject, type JsonValue } from '../apimachinery/index.ts';
import { compose, evaluate, setOwn } from '../manifests/index.ts';
import { type Scalar, untaggedScalar } from './go-scalar.ts';

/** A map in the order of its text. */
export class OrderedMap {
  readonly entries: readonly (readonly [string, Tree])[];

  constructor(entries: readonly (readonly [string, Tree])[]) {
    this.entries = entries;
  }
}

/** A scalar, and the bytes that SOPS takes for it where it is not sealed. */
export class TextScalar {
  readonly value: Scalar;
  readonly bytes: Buffer | undefined;

  constructor(value: Scalar, bytes: Buffer | undefined) {
    this.value = value;
    this.bytes = bytes;
  }
}

export type Tree = JsonValue | OrderedMap | TextScalar | readonly Tree[];

/** A scalar on its place. */
export interface Leaf {
  /** Keys alone, as values are bound to them. */
  readonly path: readonly string[];
  /** Keys and indexes, as people look for it. */
  readonly at: readonly (string | number)[];
  readonly value: Scalar;
  /** As SOPS sees the value where it is in the clear; undefined: as JSON has it. */
  readonly bytes?: Buffer | undefined;
}

/** A key that JavaScript moves to the front of an object. */
const INDEX = /^(?:0|[1-9]\d{0,9})$/;

/** Whether the order of the text is lost in the JSON value. */
export function losesOrder(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(losesOrder);
  if (!isRecord(value)) return false;
  return Object.keys(value).some((key) => INDEX.test(key)) || Object.values(value).some(losesOrder);
}

/** What a scalar becomes; undefined takes it out. */
type Change = (leaf: Leaf) => JsonValue | undefined;

/** A copy with every scalar as `change` has it, asked in the order of the text. */
export function mapLeaves(tree: Tree, change: Change): JsonValue | undefined {
  return mapped(tree, { path: [], at: [] }, change);
}

function mapped(
  tree: Tree,
  { path, at }: Pick<Leaf, 'path' | 'at'>,
  change: Change,
): JsonValue | undefined {
  if (tree instanceof TextScalar) {
    return change({ path, at, value: tree.value, bytes: tree.bytes });
  }
  if (Array.isArray(tree)) {
    return tree
      .map((item, i) => mapped(item, { path, at: [...at, i] }, change))
      .filter((item) => item !== undefined);
  }
  if (typeof tree !== 'object' || tree === null) {
    return change({ path, at, value: tree as Scalar });
  }
  const entries = tree instanceof OrderedMap ? tree.entries : Object.entries(tree as JsonObject);
  const copy: JsonObject = {};
  for (const [key, item] of entries) {
    const value = mapped(item, { path: [...path, key], at: [...at, key] }, change);
    if (value !== undefined) setOwn(copy, key, value);
  }
  return copy;
}

/** The tree of one document's text; undefined where it does not parse. */
export function orderedTree(source: string): Tree | undefined {
  const { contents, flaws } = compose(source, { tokens: false });
  if (contents === null || flaws.length > 0) return undefined;
  const { targets, flaws: others } = evaluate(contents);
  return others.length > 0 ? undefined : treeOf(contents, targets);
}

function treeOf(node: ParsedNode | null, targets: ReadonlyMap<ParsedNode, ParsedNode>): Tree {
  const real = isAlias(node) ? (targets.get(node) ?? null) : node;
  if (isSeq(real)) return real.items.map((item) => treeOf(item as ParsedNode, targets));
  if (isMap(real)) {
    return new OrderedMap(
      real.items.map(({ key, value }) => {
        const name = isAlias(key) ? targets.get(key as ParsedNode) : key;
        return [isScalar(name) ? String(name.source) : '', treeOf(value as ParsedNode, targets)];
      }),
    );
  }
  return isScalar(real) ? untagged(real) : null;
}

function untagged(node: Extract<ParsedNode, { source: string }>): TextScalar {
  const { value, bytes } = untaggedScalar(node.source, isScalar(node) ? node : undefined);
  return new TextScalar(value, bytes);
}
