/** Flow collections that are written as JSON stay JSON. */
import { isScalar, type ParsedNode } from 'yaml';
import { isMapNode, isSeqNode, type MapNode, type SeqNode } from './slots.ts';

/**
 * Undefined for block collections. A flow collection is JSON if every key and every string in it is
 * in double quotes; its nested collections inherit that.
 */
export function jsonStyle(
  node: MapNode | SeqNode,
  around: boolean | undefined,
): boolean | undefined {
  if (node.flow !== true) return undefined;
  if (around !== undefined) return around;
  const quotes = strings(node);
  return quotes.length > 0 && quotes.every((type) => type === 'QUOTE_DOUBLE');
}

/** Styles of all strings in a value. */
function strings(node: ParsedNode | null): (string | undefined)[] {
  if (isSeqNode(node)) return node.items.flatMap(strings);
  if (isMapNode(node)) {
    return node.items.flatMap(({ key, value }) => [typeOf(key), ...strings(value)]);
  }
  if (!isScalar(node)) return [];
  return node.type === 'PLAIN' && /^[-0-9tfn]/.test(node.source) ? [] : [node.type ?? undefined];
}

function typeOf(key: ParsedNode): string | undefined {
  return isScalar(key) ? (key.type ?? undefined) : undefined;
}
