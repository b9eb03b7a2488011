/** Merge rules for the parts of an object: from its schema, or from its value if the schema has none. */
import { isRecord, type JsonObject, type JsonValue } from '../apimachinery/index.ts';
import { keyElement, type PathElement, valueElement } from './field-set.ts';

/** The part of a JSON Schema that the merge rules need. */
export interface ShapeNode {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, ShapeNode>>;
  readonly additionalProperties?: boolean | ShapeNode;
  readonly items?: ShapeNode;
  readonly default?: JsonValue;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly [keyword: string]: unknown;
}

/** Undefined for a value without a schema: maps are merged key by key, and lists are atomic. */
export type Shape = ShapeNode | undefined;

/** True: the value is owned and replaced as a whole. */
export function isAtomic(shape: Shape, value: JsonValue | undefined): boolean {
  if (Array.isArray(value)) {
    const type = shape?.['x-kubernetes-list-type'];
    return type !== 'map' && type !== 'set';
  }
  if (isRecord(value)) return shape?.['x-kubernetes-map-type'] === 'atomic';
  return true;
}

export function isDeclared(shape: Shape, name: string): boolean {
  return shape?.properties !== undefined && Object.hasOwn(shape.properties, name);
}

export function fieldShape(shape: Shape, name: string): Shape {
  if (isDeclared(shape, name)) return shape?.properties?.[name];
  const rest = shape?.additionalProperties;
  return typeof rest === 'object' ? rest : undefined;
}

export function itemShape(shape: Shape): Shape {
  return shape?.items;
}

export class DuplicateItemError extends Error {
  override name = 'DuplicateItemError';
}

/**
 * Path elements of the items of a list that is not atomic, in order. Never fails: a stored list may
 * hold an item twice, and then both count as one item with the same owners.
 */
export function itemElements(shape: Shape, list: readonly JsonValue[]): PathElement[] {
  const isSet = shape?.['x-kubernetes-list-type'] === 'set';
  return list.map((item) => (isSet ? valueElement(item) : keyElement(keysOf(shape, item))));
}

function keysOf(shape: Shape, item: JsonValue): JsonObject {
  const keys = shape?.['x-kubernetes-list-map-keys'] ?? [];
  const values: JsonObject = {};
  if (!isRecord(item)) return values;
  for (const key of keys) {
    const value = item[key] ?? fieldShape(itemShape(shape), key)?.default;
    if (value !== undefined) values[key] = value;
  }
  return values;
}

/** Fields of `metadata` without managers: they identify the object, or only the server writes them. */
export const UNMANAGED_META = [
  'name',
  'namespace',
  'creationTimestamp',
  'selfLink',
  'uid',
  'clusterName',
  'generation',
  'managedFields',
  'resourceVersion',
];
