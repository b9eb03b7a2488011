/**
 * Strategic merge patches for the kinds that kubectl has Go types of: it sends nothing else for
 * them in apply, edit and diff. Lists are replaced, but for those that merge by a field.
 *
 * The cost follows the sizes of object and patch: items are found by the text of their key, and no
 * part of the object is merged twice.
 */
import {
  badRequest,
  canonicalJson,
  isRecord,
  type JsonObject,
  type JsonValue,
} from '../../apimachinery/index.ts';

/** Lists that merge, with the key field of their items; '' for lists of strings. */
const MERGED_LISTS: Readonly<Record<string, string>> = {
  'metadata.finalizers': '',
  'metadata.ownerReferences': 'uid',
  'spec.ports': 'port',
};

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
    else merged[key] = mergeValue(own(merged, key), value, pathOf(path, key));
  }
  return withListDirectives(merged, patch, path);
}

function pathOf(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
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
  const names = new Set(keys);
  return Object.fromEntries(Object.entries(target).filter(([key]) => names.has(key)));
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
  const entries = patch.map((item) => {
    const directive = isRecord(item) ? directiveOf(item) : undefined;
    return { item, directive, id: idOf(item, mergeKey) };
  });
  const replaces = entries.some(({ directive }) => directive === 'replace');
  const deletions = entries.filter(({ directive }) => directive === 'delete');
  const plain = entries.filter(({ directive }) => directive === undefined || directive === 'merge');
  const nameless = entries.find(({ directive, id }) => directive !== 'replace' && id === undefined);
  if (nameless !== undefined) throw badRequest(`an item to merge has no ${mergeKey}`);
  if (replaces) return plain.map(({ item }) => mergeValue(undefined, item, ''));
  const gone = new Set(deletions.map(({ id }) => id));
  const merged = items.filter((item) => !gone.has(idOf(item, mergeKey)));
  const places = new Map<string | undefined, number>();
  for (const [at, item] of merged.entries()) {
    const id = idOf(item, mergeKey);
    if (!places.has(id)) places.set(id, at);
  }
  const byId = new Map<string | undefined, JsonValue[]>();
  for (const { item, id } of plain) {
    const same = byId.get(id);
    if (same === undefined) byId.set(id, [item]);
    else same.push(item);
  }
  for (const [id, same] of byId) {
    const at = places.get(id) ?? merged.length;
    merged[at] = mergeValue(merged[at], united(same, mergeKey), '');
  }
  return merged;
}

/**
 * One item for all with the same key, as two ports of a Service that differ in their protocol. The whole item
 * would be merged again for each, so that only those pass whose last values count.
 */
function united(same: readonly JsonValue[], mergeKey: string): JsonValue {
  const [first = null] = same;
  if (same.length === 1 || !isRecord(first)) return first;
  if (!same.every(isFlat)) throw badRequest(`two items to merge have the same ${mergeKey}`);
  const all: JsonObject = {};
  for (const item of same) Object.assign(all, item);
  return all;
}

/** True if merging it sets or removes values, and does nothing else. */
function isFlat(item: JsonValue): boolean {
  return Object.entries(item ?? {}).every(
    ([key, value]) =>
      !key.startsWith('$') && key !== '__proto__' && (value === null || typeof value !== 'object'),
  );
}

/** The same text for the same key. Undefined: the item has none. */
function idOf(item: JsonValue, mergeKey: string): string | undefined {
  const id = mergeKey === '' ? item : isRecord(item) ? own(item, mergeKey) : undefined;
  return id === undefined ? undefined : canonicalJson(id);
}

/** `$deleteFromPrimitiveList/<field>` takes items away, `$setElementOrder/<field>` sorts the rest. */
function withListDirectives(merged: JsonObject, patch: JsonObject, path: string): JsonObject {
  for (const [key, value] of Object.entries(patch)) {
    const prefix = [ORDER, DELETE].find((start) => key.startsWith(start));
    if (prefix === undefined) continue;
    const name = key.slice(prefix.length);
    const list = own(merged, name);
    if (!Array.isArray(value)) throw badRequest(`${key} must be a list`);
    if (!Array.isArray(list)) continue;
    merged[name] =
      prefix === DELETE
        ? without(list, value)
        : sorted(list, value, MERGED_LISTS[pathOf(path, name)] ?? '');
  }
  return merged;
}

function without(list: readonly JsonValue[], items: readonly JsonValue[]): JsonValue[] {
  const gone = new Set(items.map(canonicalJson));
  return list.filter((item) => !gone.has(canonicalJson(item)));
}

/** Items that the order does not name keep their own order, behind those that it names. */
function sorted(
  list: readonly JsonValue[],
  order: readonly JsonValue[],
  mergeKey: string,
): JsonValue[] {
  const ranks = new Map<string | undefined, number>();
  for (const wanted of order) {
    const id = idOf(wanted, mergeKey);
    if (id !== undefined && !ranks.has(id)) ranks.set(id, ranks.size);
  }
  const ranked = list.map((item) => ({
    item,
    rank: ranks.get(idOf(item, mergeKey)) ?? order.length,
  }));
  return ranked.sort((a, b) => a.rank - b.rank).map(({ item }) => item);
}
