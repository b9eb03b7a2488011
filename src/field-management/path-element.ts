/**
 * One step of a path into an object, as FieldsV1 writes it: `f:<name>` a field, `k:<json>` the item
 * of a list by its keys, `v:<json>` the item of a set by its value. Kept as this text, which is the
 * same for the same step.
 */
import { isRecord, type JsonObject, type JsonValue } from '../apimachinery/index.ts';

export type PathElement = string;

export function fieldElement(name: string): PathElement {
  return `f:${name}`;
}

/** The keys in order of name, as Kubernetes writes them. */
export function keyElement(keys: JsonObject): PathElement {
  return `k:${canonical(keys)}`;
}

export function valueElement(value: JsonValue): PathElement {
  return `v:${canonical(value)}`;
}

/** The name of a field; undefined for an item of a list. */
export function fieldName(element: PathElement): string | undefined {
  return element.startsWith('f:') ? element.slice(2) : undefined;
}

const ITEM = /^(?:k:\{.*\}|v:.+|i:-?\d+)$/s;

/** True if an external text is a valid step. A key must parse and be a map. */
export function isPathElement(text: string): boolean {
  if (text.startsWith('f:')) return true;
  if (!ITEM.test(text)) return false;
  try {
    const value: unknown = JSON.parse(text.slice(2));
    return !text.startsWith('k:') || isRecord(value);
  } catch {
    return false;
  }
}

/** The step in messages: `.spec`, `[name="x"]`, `[="x"]`. */
export function formatElement(element: PathElement): string {
  const rest = element.slice(2);
  switch (element[0]) {
    case 'f':
      return `.${rest}`;
    case 'k': {
      const keys = JSON.parse(rest) as JsonObject;
      const parts = Object.keys(keys)
        .sort()
        .map((name) => `${name}=${JSON.stringify(keys[name])}`);
      return `[${parts.join(',')}]`;
    }
    case 'v':
      return `[=${rest}]`;
    default:
      return `[${rest}]`;
  }
}

const ORDER = 'fkvi';

/** Fields, then items by key, by value, by index; by their text among themselves. */
export function compareElements(a: PathElement, b: PathElement): number {
  const kind = ORDER.indexOf(a[0] ?? '') - ORDER.indexOf(b[0] ?? '');
  if (kind !== 0) return kind;
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function canonical(value: JsonValue): string {
  if (!isRecord(value)) return JSON.stringify(value);
  const sorted = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key] ?? null)}`);
  return `{${sorted.join(',')}}`;
}
