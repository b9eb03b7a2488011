/**
 * Operations on objects by their shape: list fields, compare, merge, remove fields. The rules are those
 * of structured-merge-diff, which every Kubernetes API server uses; test/field-management compares
 * with it.
 */
import { isRecord, type JsonObject, type JsonValue, jsonEqual } from '../apimachinery/index.ts';
import { FieldSet, fieldElement, fieldName, keyElement, type PathElement } from './field-set.ts';
import { mergedOrder } from './list-order.ts';
import {
  DuplicateItemError,
  fieldShape,
  isAtomic,
  isDeclared,
  itemElements,
  itemShape,
  type Shape,
} from './shape.ts';

type Path = readonly PathElement[];

/** Throws DuplicateItemError if an applied list has the same item twice. */
export function checkApplied(shape: Shape, value: JsonValue): void {
  if (value === null || typeof value !== 'object' || isAtomic(shape, value)) return;
  if (Array.isArray(value)) {
    checkItems(shape, value);
    for (const item of value) checkApplied(itemShape(shape), item);
    return;
  }
  for (const [name, child] of Object.entries(value)) checkApplied(fieldShape(shape, name), child);
}

/** Throws for an item of an applied list that is there twice, or has no key. */
function checkItems(shape: Shape, list: readonly JsonValue[]): void {
  const seen = new Set<PathElement>();
  for (const element of itemElements(shape, list)) {
    if (element === keyElement({})) throw new DuplicateItemError('an item of a list has no key');
    if (seen.has(element)) {
      throw new DuplicateItemError(`duplicate entries for key [${element.slice(2)}]`);
    }
    seen.add(element);
  }
}

/** Every field that an object sets. */
export function fieldsOf(shape: Shape, value: JsonValue): FieldSet {
  const set = new FieldSet();
  collect(shape, value, { path: [], set });
  return set;
}

function collect(shape: Shape, value: JsonValue, to: { path: Path; set: FieldSet }): void {
  const { path, set } = to;
  if (isAtomic(shape, value)) {
    set.insert(path);
    return;
  }
  if (Array.isArray(value)) {
    const elements = itemElements(shape, value);
    for (const [at, element] of elements.entries()) {
      const item = [...path, element];
      collect(itemShape(shape), value[at] ?? null, { path: item, set });
      set.insert(item);
    }
    return;
  }
  for (const [name, child] of Object.entries(mapOf(value))) {
    const field = [...path, fieldElement(name)];
    collect(fieldShape(shape, name), child, { path: field, set });
    if (child === null || isEmptyMap(child) || !isDeclared(shape, name)) set.insert(field);
  }
}

export interface Comparison {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

export function compare(shape: Shape, before: JsonValue, after: JsonValue): Comparison {
  const result = { added: new FieldSet(), modified: new FieldSet(), removed: new FieldSet() };
  compareAt(shape, { before, after, path: [] }, result);
  return result;
}

interface Pair {
  readonly before: JsonValue | undefined;
  readonly after: JsonValue | undefined;
  readonly path: Path;
}

function compareAt(shape: Shape, pair: Pair, to: Comparison): void {
  const { before, after, path } = pair;
  // A list may have a hundred thousand items.
  if (Array.isArray(before) && jsonEqual(before, after)) return;
  if (before === undefined || after === undefined) {
    if (after !== undefined) to.added.insert(path, everything(shape, after));
    if (before !== undefined) to.removed.insert(path, everything(shape, before));
    return;
  }
  if (haveTwoForms(before, after)) {
    compareAt(shape, { before, after: undefined, path }, to);
    compareAt(shape, { before: undefined, after, path }, to);
    return;
  }
  if (isLeaf(shape, before, after)) {
    if (!jsonEqual(before, after)) to.modified.insert(path);
    return;
  }
  for (const { element, child, values } of children(shape, before, after)) {
    const [one, other] = values;
    compareAt(child, { before: one, after: other, path: [...path, element] }, to);
  }
}

/** All fields of a value that the other side lacks. */
function everything(shape: Shape, value: JsonValue): FieldSet {
  const set = new FieldSet();
  if (isAtomic(shape, value) || isEmptyOrNone(value)) return set;
  const add = (element: PathElement, child: Shape, item: JsonValue): void => {
    set.members.add(element);
    set.put(element, everything(child, item));
  };
  if (Array.isArray(value)) {
    const child = itemShape(shape);
    for (const [element, item] of itemsOf(shape, value)) add(element, child, item);
    return set;
  }
  const map = mapOf(value);
  for (const name of Object.keys(map)) {
    add(fieldElement(name), fieldShape(shape, name), map[name] ?? null);
  }
  return set;
}

/** Null stands for an empty value of any form. */
function isThere(value: JsonValue | undefined): value is Exclude<JsonValue, null> {
  return value !== undefined && value !== null;
}

function haveTwoForms(before: JsonValue | undefined, after: JsonValue | undefined): boolean {
  return isThere(before) && isThere(after) && formOf(before) !== formOf(after);
}

function isLeaf(
  shape: Shape,
  before: JsonValue | undefined,
  after: JsonValue | undefined,
): boolean {
  if (isThere(before) && isAtomic(shape, before)) return true;
  if (isThere(after) && isAtomic(shape, after)) return true;
  return isEmptyOrNone(before) && isEmptyOrNone(after);
}

interface Child {
  readonly element: PathElement;
  readonly child: Shape;
  readonly values: readonly [JsonValue | undefined, JsonValue | undefined];
}

function* children(
  shape: Shape,
  before: JsonValue | undefined,
  after: JsonValue | undefined,
): IterableIterator<Child> {
  if (Array.isArray(before) || Array.isArray(after)) {
    const [one, other] = [itemsOf(shape, before), itemsOf(shape, after)];
    for (const element of new Set([...one.keys(), ...other.keys()])) {
      yield {
        element,
        child: itemShape(shape),
        values: [one.get(element), other.get(element)],
      };
    }
    return;
  }
  const [one, other] = [mapOf(before), mapOf(after)];
  for (const name of new Set([...Object.keys(one), ...Object.keys(other)])) {
    yield {
      element: fieldElement(name),
      child: fieldShape(shape, name),
      values: [own(one, name), own(other, name)],
    };
  }
}

/** Merges `applied` into the live object. Scalars and atomic values are replaced. */
export function merge(shape: Shape, live: JsonValue, applied: JsonValue): JsonValue {
  if (isEmptyOrNone(live)) return applied;
  if (applied === null) return isAtomic(shape, live) ? applied : live;
  if (isAtomic(shape, live) || isAtomic(shape, applied)) return applied;
  if (formOf(live) !== formOf(applied)) return applied;
  if (Array.isArray(live) && Array.isArray(applied)) return mergeLists(shape, live, applied);
  const merged: JsonObject = {};
  const [below, above] = [mapOf(live), mapOf(applied)];
  for (const name of new Set([...Object.keys(below), ...Object.keys(above)])) {
    const [one, other] = [own(below, name), own(above, name)];
    const value =
      one === undefined || other === undefined
        ? (other ?? one)
        : merge(fieldShape(shape, name), one, other);
    define(merged, name, value ?? null);
  }
  return merged;
}

function mergeLists(shape: Shape, live: JsonValue[], applied: JsonValue[]): JsonValue[] {
  const [left, right] = [itemsOf(shape, live), itemsOf(shape, applied)];
  return mergedOrder([...left.keys()], [...right.keys()]).map((element) => {
    const [one, other] = [left.get(element), right.get(element)];
    const both = one !== undefined && other !== undefined;
    return both ? merge(itemShape(shape), one, other) : (other ?? one ?? null);
  });
}

/** The object without some of its fields and items; what is left empty is null. */
export function withoutFields(shape: Shape, value: JsonValue, fields: FieldSet): JsonValue {
  if (fields.isEmpty || value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) {
    if (isAtomic(shape, value)) return value;
    const elements = itemElements(shape, value);
    const left = value.flatMap((item, at) => {
      const element = elements[at];
      if (element === undefined || fields.members.has(element)) return [];
      return [withoutFields(itemShape(shape), item, fields.below(element))];
    });
    return left.length === 0 ? null : left;
  }
  const left: JsonObject = {};
  for (const [name, child] of Object.entries(value)) {
    const element = fieldElement(name);
    if (fields.members.has(element)) continue;
    define(left, name, withoutFields(fieldShape(shape, name), child, fields.below(element)));
  }
  return Object.keys(left).length === 0 ? null : left;
}

/**
 * The set, with the declared maps above its paths as paths of their own: the owner of all fields of
 * a declared map owns the map as well, though no manager entry lists it.
 */
export function withDeclared(shape: Shape, set: FieldSet): FieldSet {
  const result = new FieldSet();
  for (const member of set.members) result.members.add(member);
  for (const [element, child] of set.children) {
    const name = fieldName(element);
    const below = name === undefined ? itemShape(shape) : fieldShape(shape, name);
    if (name !== undefined && isDeclared(shape, name)) result.members.add(element);
    result.put(element, withDeclared(below, child));
  }
  return result;
}

function itemsOf(shape: Shape, value: JsonValue | undefined): Map<PathElement, JsonValue> {
  if (!Array.isArray(value)) return new Map();
  const elements = itemElements(shape, value);
  return new Map(elements.map((element, at) => [element, value[at] ?? null]));
}

function mapOf(value: JsonValue | undefined): JsonObject {
  return isRecord(value) ? value : {};
}

function own(map: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(map, name) ? map[name] : undefined;
}

/** Also for a field that is called `__proto__`. */
function define(map: JsonObject, name: string, value: JsonValue): void {
  Object.defineProperty(map, name, { value, enumerable: true, configurable: true, writable: true });
}

function isEmptyMap(value: JsonValue): boolean {
  return isRecord(value) && Object.keys(value).length === 0;
}

function isEmptyOrNone(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null) return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

function formOf(value: JsonValue | undefined): 'map' | 'list' | 'scalar' {
  return Array.isArray(value) ? 'list' : isRecord(value) ? 'map' : 'scalar';
}
