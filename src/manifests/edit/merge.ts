/** Values that merge keys (`<<`) contribute to a map, with the new values of anchors. */
import { isAlias, isMap, type ParsedNode } from 'yaml';
import { isRecord, type JsonObject, type JsonValue } from '../../apimachinery/index.ts';
import { isSeqNode } from './slots.ts';
import { children, type EditTree } from './tree.ts';

/** Maps of a `<<`, first wins; undefined if the new text does not determine them. */
export function mergeSources(
  tree: EditTree,
  node: ParsedNode | null,
  anchors: ReadonlyMap<string, JsonValue>,
): JsonObject[] | undefined {
  const sources = isSeqNode(node) ? node.items : [node];
  const values = sources.flatMap((source) => sourceValue(tree, source, anchors));
  return values.every(isRecord) ? (values as JsonObject[]) : undefined;
}

function sourceValue(
  tree: EditTree,
  node: ParsedNode | null,
  anchors: ReadonlyMap<string, JsonValue>,
): JsonValue[] {
  if (isAlias(node)) {
    const value = anchors.get(node.source) ?? null;
    return Array.isArray(value) ? value : [value];
  }
  if (!isMap(node) || holdsAlias(node)) return [null];
  return [tree.values.get(node) ?? null];
}

function holdsAlias(node: ParsedNode): boolean {
  return isAlias(node) || children(node).some(holdsAlias);
}
