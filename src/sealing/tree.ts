/**
 * A document as a tree whose maps keep the order of the text, which is the order of the MAC. Plain
 * JSON is used if JavaScript keeps that order.
 */
import type { JsonObject, JsonValue } from '../apimachinery/index.ts';
import { setOwn } from '../manifests/index.ts';
import type { Scalar } from './go-scalar.ts';

/** A map in the order of its text. */
export class OrderedMap {
  readonly entries: readonly (readonly [string, Tree])[];

  constructor(entries: readonly (readonly [string, Tree])[]) {
    this.entries = entries;
  }
}

/** A scalar, and its bytes in the MAC of SOPS if it is not encrypted. */
export class TextScalar {
  readonly value: Scalar;
  readonly bytes: Buffer | undefined;

  constructor(value: Scalar, bytes: Buffer | undefined) {
    this.value = value;
    this.bytes = bytes;
  }
}

export type Tree = JsonValue | OrderedMap | TextScalar | readonly Tree[];

/** A scalar and its place. */
export interface Leaf {
  /** Keys without list indexes; an encrypted value is bound to them. */
  readonly path: readonly string[];
  /** Keys and list indexes. */
  readonly at: readonly (string | number)[];
  readonly value: Scalar;
  /** Bytes of the plaintext value in the MAC of SOPS. Undefined: derived from the JSON value. */
  readonly bytes?: Buffer | undefined;
}

/** Returns the new value of a scalar. Undefined removes it. */
type Change = (leaf: Leaf) => JsonValue | undefined;

/** A copy with every scalar changed. `change` is called in the order of the text. */
export function mapLeaves(tree: JsonObject, change: Change): JsonObject;
export function mapLeaves(tree: Tree, change: Change): JsonValue | undefined;
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
    return change({ path, at, value: tree });
  }
  const entries = tree instanceof OrderedMap ? tree.entries : Object.entries(tree);
  const copy: JsonObject = {};
  for (const [key, item] of entries) {
    const value = mapped(item, { path: [...path, key], at: [...at, key] }, change);
    if (value !== undefined) setOwn(copy, key, value);
  }
  return copy;
}
