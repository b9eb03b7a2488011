/** JSON values whose keys are in one order, so that the same input gives the same bytes. */
import type { JsonObject, JsonValue } from '../apimachinery/index.ts';

const OWN_VALUE = { enumerable: true, writable: true, configurable: true } as const;

/** A copy with sorted keys that shares nothing with `value`. */
export function sortedCopy<T extends JsonValue>(value: T): T {
  return copyOf(value) as T;
}

function copyOf(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(copyOf);
  if (typeof value !== 'object' || value === null) return value;
  const copy: { [key: string]: JsonValue } = {};
  for (const key of sortedKeys(value)) {
    const item = copyOf(value[key] ?? null);
    if (key !== '__proto__') copy[key] = item;
    // A key like any other in JSON; an assignment would set the prototype.
    else Object.defineProperty(copy, key, { ...OWN_VALUE, value: item });
  }
  return copy;
}

/** Returns sorted keys unchanged: the check is faster than a second sort. */
function sortedKeys(value: JsonObject): string[] {
  const keys = Object.keys(value);
  let last = '';
  for (const key of keys) {
    if (last > key) return keys.sort();
    last = key;
  }
  return keys;
}
