/** "Did you mean": the most likely intended name in place of an unknown one. */
import { distance } from 'fastest-levenshtein';
import type { FieldPath } from '../../apimachinery/index.ts';
import { type SchemaNode, schemaAt, schemaPlaces } from './schema-files.ts';

/** The candidate that differs from `word` only by case or by a typing error. */
export function closest(word: string, candidates: Iterable<string>): string | undefined {
  const wanted = word.toLowerCase();
  const limit = Math.min(3, Math.floor(wanted.length * 0.5));
  let best: { name: string; edits: number } | undefined;
  for (const name of candidates) {
    if (Math.abs(name.length - wanted.length) > limit) continue;
    const edits = distance(wanted, name.toLowerCase());
    if (edits <= limit && (best === undefined || edits < best.edits)) best = { name, edits };
  }
  return best?.name;
}

/**
 * Suggestion for the unknown field at the end of `path`: a field of the same map with a similar name,
 * or the nearest path in the schema with exactly this name, as in `spec.users`.
 */
export function fieldHint(root: SchemaNode, path: FieldPath): string | undefined {
  const key = String(path.at(-1));
  const parent = path.slice(0, -1);
  const here = closest(key, Object.keys(schemaAt(root, parent)?.properties ?? {}));
  if (here !== undefined && distance(here.toLowerCase(), key.toLowerCase()) <= 1) return here;
  return elsewhere(root, parent, key) ?? here;
}

function elsewhere(root: SchemaNode, parent: FieldPath, key: string): string | undefined {
  const from = parent.map((step) => (typeof step === 'number' ? '*' : step));
  let best: { path: readonly string[]; steps: number } | undefined;
  for (const { path } of schemaPlaces(root)) {
    if (path.at(-1)?.toLowerCase() !== key.toLowerCase() || isServerSide(path)) continue;
    const steps = stepsBetween(from, path.slice(0, -1));
    if (best === undefined || steps < best.steps) best = { path, steps };
  }
  return best?.path.join('.').replaceAll('.*', '[]');
}

/** True for fields that only the server writes. They are never suggested. */
function isServerSide(path: readonly string[]): boolean {
  return path[0] === 'status' || path[0] === 'conditions' || path[1] === 'managedFields';
}

/** Number of levels up and down from one map to another. */
function stepsBetween(from: readonly string[], to: readonly string[]): number {
  let common = 0;
  while (common < from.length && common < to.length && from[common] === to[common]) common++;
  return from.length + to.length - 2 * common;
}
