/** Puts values at places that matched. Changes the value it is given. */
import { type JsonObject, type JsonValue, valueAt } from '../../apimachinery/index.ts';
import type { Place } from './path.ts';

/** The new value of one place. Undefined deletes the map key or removes the list element. */
export interface Replacement {
  readonly place: Place;
  readonly value: JsonValue | undefined;
}

/** All places of one path, in its order, none of them the root: removals do not shift the others. */
export function writePlaces(root: JsonValue, replacements: readonly Replacement[]): void {
  for (const { place, value } of replacements) if (value !== undefined) put(root, place, value);
  for (const { place, value } of replacements.toReversed()) {
    if (value === undefined) remove(root, place);
  }
}

function put(root: JsonValue, place: Place, value: JsonValue): void {
  const parent = parentOf(root, place);
  const step = place.at(-1);
  if (Array.isArray(parent)) parent[Number(step)] = value;
  else Object.defineProperty(parent, String(step), { ...OWN_VALUE, value });
}

/** A definition, since an assignment to `__proto__` would set the prototype. */
const OWN_VALUE = { enumerable: true, writable: true, configurable: true } as const;

function remove(root: JsonValue, place: Place): void {
  const parent = parentOf(root, place);
  const step = place.at(-1);
  if (Array.isArray(parent)) parent.splice(Number(step), 1);
  else delete parent[String(step)];
}

function parentOf(root: JsonValue, place: Place): JsonValue[] | JsonObject {
  const parent = valueAt(root, place.slice(0, -1));
  if (typeof parent === 'object' && parent !== null) return parent;
  throw new Error('Only a map or a list has places');
}
