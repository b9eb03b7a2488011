/**
 * Three-way merge of values: the fields of an object, and the items of its lists. A field that only one
 * side changed has the value of that side.
 */
import {
  type FieldPath,
  isRecord,
  type JsonObject,
  type JsonValue,
  jsonEqual,
} from '../../apimachinery/index.ts';
import { MERGE_KEYS } from '../edit/match.ts';
import { mergeSequences } from './sequences.ts';

/** Versions of one value; undefined: the field is absent. */
export interface Versions {
  readonly base: JsonValue | undefined;
  readonly tip: JsonValue | undefined;
  readonly pushed: JsonValue | undefined;
}

export interface MergedValue {
  /** Undefined: the field is absent. */
  readonly value: JsonValue | undefined;
  /** Fields that both sides changed, each to another value; `value` has that of the tip there. */
  readonly conflicts: readonly FieldPath[];
}

export function mergeValues(versions: Versions, path: FieldPath = []): MergedValue {
  const { base, tip, pushed } = versions;
  if (same(tip, pushed) || same(base, pushed)) return { value: tip, conflicts: [] };
  if (same(base, tip)) return { value: pushed, conflicts: [] };
  if (isMap(tip) && isMap(pushed) && (base === undefined || isMap(base))) {
    return mergeMaps({ base: base ?? {}, tip, pushed }, path);
  }
  if (Array.isArray(tip) && Array.isArray(pushed) && (base === undefined || Array.isArray(base))) {
    return mergeLists({ base: base ?? [], tip, pushed }, path);
  }
  return { value: tip, conflicts: [path] };
}

function same(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  return a === undefined || b === undefined ? a === b : jsonEqual(a, b);
}

function isMap(value: JsonValue | undefined): value is JsonObject {
  return isRecord(value);
}

type Three<T> = Readonly<Record<'base' | 'tip' | 'pushed', T>>;

function mergeMaps({ base, tip, pushed }: Three<JsonObject>, path: FieldPath): MergedValue {
  const value: JsonObject = {};
  const conflicts: FieldPath[] = [];
  for (const key of new Set([...Object.keys(tip), ...Object.keys(pushed)])) {
    const own = (map: JsonObject): JsonValue | undefined =>
      Object.hasOwn(map, key) ? map[key] : undefined;
    const versions = { base: own(base), tip: own(tip), pushed: own(pushed) };
    const merged = mergeValues(versions, [...path, key]);
    if (merged.value !== undefined) {
      Object.defineProperty(value, key, {
        value: merged.value,
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
    for (const one of merged.conflicts) conflicts.push(one);
  }
  return { value, conflicts };
}

type Items = readonly JsonValue[];

/** Lists merge item by item if each item has a name of its own. */
function mergeLists(lists: Three<Items>, path: FieldPath): MergedValue {
  const conflict = { value: [...lists.tip], conflicts: [path] };
  const nameOf = namesOf([lists.base, lists.tip, lists.pushed]);
  if (nameOf === undefined) return conflict;
  const names = (items: Items): string[] => items.map((item) => nameOf(item) ?? '');
  const order = mergeSequences(names(lists.base), [names(lists.tip), names(lists.pushed)], {
    joinsNeighbours: true,
  });
  if (order?.isClean !== true || new Set(order.items).size < order.items.length) return conflict;
  const named = (items: Items): ReadonlyMap<string, JsonValue> =>
    new Map(items.map((item) => [nameOf(item) ?? '', item]));
  const byName = {
    base: named(lists.base),
    tip: named(lists.tip),
    pushed: named(lists.pushed),
  };
  const versionsOf = (name: string): Versions => ({
    base: byName.base.get(name),
    tip: byName.tip.get(name),
    pushed: byName.pushed.get(name),
  });
  const conflicts: FieldPath[] = [];
  for (const name of byName.base.keys()) {
    const { base, tip, pushed } = versionsOf(name);
    const [left] = [tip, pushed].filter((item) => item !== undefined);
    const isRemoved = tip === undefined || pushed === undefined;
    if (isRemoved && left !== undefined && !same(base, left)) conflicts.push(path);
  }
  const value = order.items.map((name, i) => {
    const merged = mergeValues(versionsOf(name), [...path, i]);
    for (const one of merged.conflicts) conflicts.push(one);
    return merged.value ?? null;
  });
  return conflicts.length === 0 ? { value, conflicts } : { ...conflict, conflicts };
}

/** Names of items that are unique in every list; undefined: there are none. */
function namesOf(lists: readonly Items[]): ((item: JsonValue) => string | undefined) | undefined {
  const candidates = [scalar, ...MERGE_KEYS.map(field)];
  return candidates.find((nameOf) =>
    lists.every((items) => {
      const names = items.map(nameOf);
      return !names.includes(undefined) && new Set(names).size === names.length;
    }),
  );
}

function scalar(item: JsonValue): string | undefined {
  return typeof item === 'object' ? undefined : JSON.stringify(item);
}

function field(name: string): (item: JsonValue) => string | undefined {
  return (item) => {
    const value = isMap(item) && Object.hasOwn(item, name) ? item[name] : undefined;
    return typeof value === 'string' ? value : undefined;
  };
}
