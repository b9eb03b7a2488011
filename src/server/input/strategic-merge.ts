/**
 * Strategic merge patches for the kinds that kubectl has Go types of: it sends nothing else for
 * them in apply, edit and diff. Lists are replaced, but for those that merge by a field.
 */
import {
  badRequest,
  isRecord,
  type JsonObject,
  type JsonValue,
  jsonEqual,
} from '../../apimachinery/index.ts';

/** Lists that merge, with the key field of their items; '' for lists of strings. */
const MERGED_LISTS: Readonly<Record<string, string>> = {
  'metadata.finalizers': '',
  'metadata.ownerReferences': 'uid',
  'spec.ports': 'port',
};

/** Limit of the pairs of items that a merge of two lists may compare: some 100 ms. */
const MAX_PAIRS = 1_000_000;

const PATCH = '$patch';
const RETAIN_KEYS = '$retainKeys';
const ORDER = '$setElementOrder/';
const DELETE = '$deleteFromPrimitiveList/';

/** A patched copy; `object` stays as it is. Throws 400 for a patch that is none. */
export function applyStrategicMergePatch(object: JsonObject, patch: unknown): JsonObject {
  if (!isRecord(patch)) throw badRequest('a strategic merge patch must be a map');
  return mergeMap(structuredClone(object), structuredClone(patch as JsonObject), '');
}

function mergeMap(target: JsonObject, patch: JsonObject, path: string): JsonObject {
  const directive = directiveOf(patch);
  const fields = Object.entries(patch).filter(([key]) => !key.startsWith('$'));
  if (directive === 'replace') return Object.fromEntries(fields);
  if (directive === 'delete') return {};
  const merged = retained(target, patch[RETAIN_KEYS]);
  for (const [key, value] of fields) {
    if (key === '__proto__') throw badRequest('the key "__proto__" is not allowed');
    if (value === null) delete merged[key];
    else merged[key] = mergeValue(own(merged, key), value, path === '' ? key : `${path}.${key}`);
  }
  return withListDirectives(merged, patch);
}

function directiveOf(patch: JsonObject): JsonValue | undefined {
  const directive = patch[PATCH];
  if (directive === undefined || ['replace', 'delete', 'merge'].includes(String(directive))) {
    return directive;
  }
  throw badRequest(`Unknown patch type found: ${JSON.stringify(directive)}`);
}

function own(map: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}

function retained(target: JsonObject, keys: JsonValue | undefined): JsonObject {
  if (keys === undefined) return target;
  if (!Array.isArray(keys)) throw badRequest(`${RETAIN_KEYS} must be a list`);
  return Object.fromEntries(Object.entries(target).filter(([key]) => keys.includes(key)));
}

function mergeValue(target: JsonValue | undefined, value: JsonValue, path: string): JsonValue {
  if (isRecord(value)) {
    return mergeMap(isRecord(target) ? target : {}, value, path);
  }
  const mergeKey = MERGED_LISTS[path];
  if (!Array.isArray(value) || mergeKey === undefined) return value;
  return mergeList(Array.isArray(target) ? target : [], value, mergeKey);
}

function mergeList(items: readonly JsonValue[], patch: JsonValue[], mergeKey: string): JsonValue[] {
  const idOf = (item: JsonValue): JsonValue | undefined =>
    mergeKey === '' ? item : isRecord(item) ? own(item, mergeKey) : undefined;
  const replaces = patch.some((item) => isRecord(item) && item[PATCH] === 'replace');
  const merged = replaces ? [] : [...items];
  assertComparable(merged.length + patch.length, patch.length);
  for (const item of patch) {
    const directive = isRecord(item) ? directiveOf(item) : undefined;
    if (directive === 'replace') continue;
    const id = idOf(item);
    if (id === undefined) throw badRequest(`an item to merge has no ${mergeKey}`);
    const at = merged.findIndex((other) => jsonEqual(idOf(other), id));
    if (directive === 'delete') merged.splice(at < 0 ? merged.length : at, 1);
    else if (at < 0) merged.push(mergeValue(undefined, item, ''));
    else merged[at] = mergeValue(merged[at], item, '');
  }
  return merged;
}

/** `$deleteFromPrimitiveList/<field>` takes items away, `$setElementOrder/<field>` sorts the rest. */
function withListDirectives(merged: JsonObject, patch: JsonObject): JsonObject {
  for (const [key, value] of Object.entries(patch)) {
    const prefix = [ORDER, DELETE].find((start) => key.startsWith(start));
    if (prefix === undefined) continue;
    const list = own(merged, key.slice(prefix.length));
    if (!Array.isArray(value)) throw badRequest(`${key} must be a list`);
    if (!Array.isArray(list)) continue;
    assertComparable(list.length, value.length);
    merged[key.slice(prefix.length)] =
      prefix === DELETE
        ? list.filter((item) => !value.some((gone) => jsonEqual(gone, item)))
        : sorted(list, value);
  }
  return merged;
}

/** Items that the order does not name keep their own order, behind those that it names. */
function sorted(list: readonly JsonValue[], order: readonly JsonValue[]): JsonValue[] {
  const rank = (item: JsonValue): number => {
    const at = order.findIndex((wanted) =>
      isRecord(wanted) && isRecord(item)
        ? Object.entries(wanted).every(([key, value]) => jsonEqual(item[key], value))
        : jsonEqual(wanted, item),
    );
    return at < 0 ? order.length : at;
  };
  const ranked = list.map((item) => ({ item, rank: rank(item) }));
  return ranked.sort((a, b) => a.rank - b.rank).map(({ item }) => item);
}

function assertComparable(items: number, others: number): void {
  if (items * others <= MAX_PAIRS) return;
  throw badRequest(
    `a strategic merge patch compares at most ${MAX_PAIRS} pairs of items of a list; replace the list with a JSON merge patch`,
  );
}
