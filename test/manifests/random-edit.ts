/** Random changes of JSON values, and where they fall in a text. */
import { isCollection, isScalar, isSeq, isMap as isYamlMap, type ParsedNode } from 'yaml';
import type { JsonObject, JsonValue } from '../../src/apimachinery/object.ts';
import {
  type Entry,
  entriesOf,
  type MapNode,
  type SeqNode,
} from '../../src/manifests/edit/slots.ts';
import type { EditTree } from '../../src/manifests/edit/tree.ts';
import { isMap, type Random, randomKey, randomScalar } from './random-yaml.ts';

export type Path = readonly (string | number)[];
export type Operation = 'scalar' | 'remove' | 'add' | 'replace';

export interface Change {
  readonly operation: Operation;
  /** Path of the change; for an addition, of its collection. */
  readonly path: Path;
}

function randomValue(random: Random, depth = 2): JsonValue {
  if (depth === 0 || random.chance(70)) return randomScalar(random);
  const length = random.below(3);
  if (random.chance(50)) return Array.from({ length }, () => randomValue(random, depth - 1));
  return Object.fromEntries(
    Array.from({ length }, () => [randomKey(random), randomValue(random, depth - 1)]),
  );
}

function pathsOf(value: JsonValue, path: Path = []): Path[] {
  if (Array.isArray(value)) {
    return [path, ...value.flatMap((item, index) => pathsOf(item, [...path, index]))];
  }
  if (!isMap(value)) return [path];
  return [path, ...Object.entries(value).flatMap(([key, item]) => pathsOf(item, [...path, key]))];
}

/** Changes one place of `value`, which it owns. */
export function change(value: JsonObject, random: Random): Change {
  const path = random.pick(pathsOf(value));
  const target = at(value, path);
  if (typeof target === 'object' && target !== null && (path.length === 0 || random.chance(40))) {
    if (Array.isArray(target))
      target.splice(random.below(target.length + 1), 0, randomValue(random));
    else target[freshKey(target, random)] = randomValue(random);
    return { operation: 'add', path };
  }
  const parent = at(value, path.slice(0, -1)) as JsonObject;
  const step = path.at(-1) as string;
  const isScalarNow = typeof target !== 'object' || target === null;
  if (random.chance(30)) {
    if (Array.isArray(parent)) parent.splice(Number(step), 1);
    else delete parent[step];
    return { operation: 'remove', path };
  }
  parent[step] = isScalarNow && random.chance(70) ? randomScalar(random) : randomValue(random);
  const isScalarNext = typeof parent[step] !== 'object' || parent[step] === null;
  return { operation: isScalarNow && isScalarNext ? 'scalar' : 'replace', path };
}

function freshKey(map: JsonObject, random: Random): string {
  const key = randomKey(random);
  return Object.hasOwn(map, key) ? `${key}-${random.below(1000)}` : key;
}

export function at(value: JsonValue, path: Path): JsonValue {
  return path.reduce<JsonValue>((inner, step) => (inner as JsonObject)[step] as JsonValue, value);
}

/** The entry of a collection that a change may touch: the smallest, but whole flow collections. */
export function touchedEntry(tree: EditTree, { operation, path }: Change): Entry | undefined {
  let touched: Entry | undefined;
  let node: ParsedNode | null = tree.root.node;
  const steps = operation === 'remove' ? removedSteps(tree, path) : path;
  for (const step of steps) {
    if (!isCollection(node) || node.flow === true) return touched;
    const entry = entryAt(tree.source, node as MapNode | SeqNode, step);
    if (entry === undefined || typeof step === 'number') return touched;
    touched = entry;
    node = entry.slot.node;
  }
  return touched;
}

/** A collection that loses its last entry is replaced, and so on upwards. */
function removedSteps(tree: EditTree, path: Path): Path {
  const parent = at(tree.value as JsonValue, path.slice(0, -1)) as JsonObject;
  return Object.keys(parent).length === 1 ? path.slice(0, -1) : path;
}

function entryAt(
  source: string,
  node: MapNode | SeqNode,
  step: string | number,
): Entry | undefined {
  const entries = entriesOf(source, node);
  if (isSeq(node)) return typeof step === 'number' ? entries[step] : undefined;
  return entries.find(({ key }) => isYamlMap(node) && isScalar(key) && key.source === step);
}
