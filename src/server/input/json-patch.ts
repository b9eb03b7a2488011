/**
 * JSON Patch (RFC 6902) on JSON Pointers (RFC 6901), strict: `replace` of a missing key fails.
 *
 * Patches come from clients, so every cost is bounded by the sizes of patch and document: no step
 * looks at more than the place it names, copies and moved items of lists are counted, and only own
 * properties exist. No message holds a value, since that may be a secret.
 */
import {
  badRequest,
  isRecord,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  StatusError,
  unprocessablePatch,
} from '../../apimachinery/index.ts';
import { MAX_DEPTH } from './body.ts';

/** As in kube-apiserver. */
export const MAX_PATCH_OPERATIONS = 10_000;
/** Limit of all `copy` operations of a patch together, in bytes of JSON. */
const MAX_COPIED_BYTES = 3 * 1024 * 1024;
/** Limit of the items that all insertions and removals in lists move, together: some 50 ms. */
const MAX_MOVED_ITEMS = 100_000_000;
/** Levels that operations may stack on each other: code that recurses over a value this deep is safe. */
const MAX_LEVELS = 1000;

interface Operation {
  readonly op: string;
  readonly path: string;
  readonly from: string | undefined;
  /** Undefined where the operation has none. */
  readonly value: JsonValue | undefined;
}

/**
 * The patched document. The one that is given stays as it is. Throws 400 for what is no patch, 413
 * for too many operations, 422 where an operation cannot be applied.
 */
export function patchJson(document: JsonValue, patch: unknown): JsonValue {
  const operations = readOperations(patch);
  const root: Root = { value: structuredClone(document), moved: 0 };
  let levels = MAX_DEPTH;
  let copied = 0;
  operations.forEach((operation, index) => {
    const fail: Fail = (why) =>
      unprocessablePatch(`operation ${index} (${operation.op} ${operation.path}): ${why}`);
    if (operation.op === 'copy') {
      const source = valueAt(root, pointer(operation.from, fail), fail);
      copied += JSON.stringify(source).length;
      if (copied > MAX_COPIED_BYTES) throw fail(`copies add more than ${MAX_COPIED_BYTES} bytes`);
    }
    levels = levelsAfter(levels, operation, { root, fail });
    if (levels > MAX_LEVELS) throw fail(`the patch nests more than ${MAX_LEVELS} levels`);
    apply(root, operation, fail);
  });
  if (levels > MAX_DEPTH && depthOf(root.value) > MAX_DEPTH) {
    throw unprocessablePatch(`the patched object is nested more than ${MAX_DEPTH} levels deep`);
  }
  return root.value;
}

/** An upper bound of the depth of the document. A moved value is not walked: moves cost the same at any size. */
function levelsAfter(
  before: number,
  { op, path, from, value }: Operation,
  { root, fail }: { readonly root: Root; readonly fail: Fail },
): number {
  const target = pointer(path, fail).length;
  if (op === 'move') return before + Math.max(0, target - pointer(from, fail).length);
  const placed = op === 'copy' ? valueAt(root, pointer(from, fail), fail) : value;
  if (op === 'test' || op === 'remove' || placed === undefined) return before;
  return Math.max(before, target + depthOf(placed));
}

/** Collections inside one another; more than `MAX_LEVELS` are not counted. Does not recurse. */
function depthOf(value: JsonValue): number {
  let depth = 0;
  let level: JsonValue[] = [value];
  while (depth <= MAX_LEVELS) {
    const inner = level.filter((item) => typeof item === 'object' && item !== null);
    if (inner.length === 0) return depth;
    level = inner.flatMap((item) => Object.values(item));
    depth++;
  }
  return depth;
}

function readOperations(patch: unknown): Operation[] {
  if (!Array.isArray(patch)) throw badRequest('a JSON patch must be a list of operations');
  if (patch.length > MAX_PATCH_OPERATIONS) {
    throw new StatusError(
      413,
      'RequestEntityTooLarge',
      `The allowed maximum operations in a JSON patch is ${MAX_PATCH_OPERATIONS}, got ${patch.length}`,
    );
  }
  return patch.map(readOperation);
}

function readOperation(raw: unknown, index: number): Operation {
  if (!isRecord(raw)) throw badRequest(`operation ${index} of the JSON patch is not a map`);
  const { op, path, from, value } = raw;
  const isText = (field: unknown) => field === undefined || typeof field === 'string';
  if (!isText(op) || !isText(path) || !isText(from)) {
    throw badRequest(`operation ${index} of the JSON patch: op, path and from must be strings`);
  }
  if (path === undefined || op === undefined) {
    throw unprocessablePatch(`operation ${index}: op and path are required`);
  }
  return {
    op: op,
    path: path,
    from: from,
    value: Object.hasOwn(raw, 'value') ? (structuredClone(value) as JsonValue) : undefined,
  };
}

/** The document, held so that its root can be replaced too. */
interface Root {
  value: JsonValue;
  /** Items of lists that got another position. */
  moved: number;
}

type Fail = (why: string) => StatusError;

function apply(root: Root, { op, path, from, value }: Operation, fail: Fail): void {
  const target = pointer(path, fail);
  switch (op) {
    case 'add':
      add(root, target, needed(value, fail), fail);
      return;
    case 'remove':
      remove(root, target, fail);
      return;
    case 'replace':
      replace(root, target, needed(value, fail), fail);
      return;
    case 'test':
      if (!jsonEqual(valueAt(root, target, fail), needed(value, fail))) {
        throw fail('the value there is a different one');
      }
      return;
    case 'copy':
      add(root, target, structuredClone(valueAt(root, pointer(from, fail), fail)), fail);
      return;
    case 'move': {
      const source = pointer(from, fail);
      if (target.length > source.length && source.every((step, i) => step === target[i])) {
        throw fail('a value cannot be moved into itself');
      }
      const moved = valueAt(root, source, fail);
      if (path === from) return;
      remove(root, source, fail);
      add(root, target, moved, fail);
      return;
    }
    default:
      throw fail('the operation is none of add, remove, replace, move, copy and test');
  }
}

function needed(value: JsonValue | undefined, fail: Fail): JsonValue {
  if (value === undefined) throw fail('the operation has no value');
  return value;
}

/** The steps of a JSON Pointer. */
function pointer(text: string | undefined, fail: Fail): string[] {
  if (text === undefined) throw fail('the operation has no from');
  if (text === '') return [];
  if (!text.startsWith('/')) throw fail('a path begins with / or is empty');
  if (/~(?![01])/.test(text)) throw fail('a ~ in a path is written ~0, a / in a name ~1');
  const steps = text.split('/').slice(1);
  const names = steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  if (names.includes('__proto__')) throw fail('the key "__proto__" is not allowed');
  return names;
}

const INDEX = /^(?:0|[1-9]\d*)$/;

/** The position of an existing item. */
function indexOf(list: readonly JsonValue[], step: string, fail: Fail): number {
  const index = INDEX.test(step) ? Number(step) : Number.NaN;
  if (Number.isNaN(index)) throw fail(`${JSON.stringify(step)} is no position in a list`);
  if (index >= list.length) throw fail(`the list has only ${list.length} items`);
  return index;
}

function valueAt(root: Root, steps: readonly string[], fail: Fail): JsonValue {
  let value = root.value;
  for (const step of steps) value = childOf(value, step, fail);
  return value;
}

function childOf(value: JsonValue, step: string, fail: Fail): JsonValue {
  const child = Array.isArray(value)
    ? value[indexOf(value, step, fail)]
    : ownValue(mapOf(value, fail), step);
  if (child === undefined) throw fail(`the path does not exist: no ${JSON.stringify(step)} there`);
  return child;
}

function mapOf(value: JsonValue, fail: Fail): JsonObject {
  if (typeof value !== 'object' || value === null) throw fail('the path leads through a scalar');
  return value as JsonObject;
}

function ownValue(map: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}

interface Place {
  readonly parent: JsonValue;
  readonly step: string;
}

/** The parent must exist; undefined for the root itself. */
function placeAt(root: Root, steps: readonly string[], fail: Fail): Place | undefined {
  const step = steps.at(-1);
  return step === undefined ? undefined : { parent: valueAt(root, steps.slice(0, -1), fail), step };
}

function add(root: Root, steps: readonly string[], value: JsonValue, fail: Fail): void {
  const place = placeAt(root, steps, fail);
  if (place === undefined) {
    root.value = value;
  } else if (Array.isArray(place.parent)) {
    const { parent, step } = place;
    const end = step === '-' || step === String(parent.length);
    splice(
      root,
      { list: parent, at: end ? parent.length : indexOf(parent, step, fail) },
      fail,
      value,
    );
  } else {
    mapOf(place.parent, fail)[place.step] = value;
  }
}

function remove(root: Root, steps: readonly string[], fail: Fail): void {
  valueAt(root, steps, fail);
  const place = placeAt(root, steps, fail);
  if (place === undefined) throw fail('the whole document cannot be removed');
  if (Array.isArray(place.parent)) {
    splice(root, { list: place.parent, at: Number(place.step) }, fail);
  } else delete mapOf(place.parent, fail)[place.step];
}

/** Inserts a value, or removes an item. */
function splice(
  root: Root,
  { list, at }: { readonly list: JsonValue[]; readonly at: number },
  fail: Fail,
  ...values: JsonValue[]
): void {
  root.moved += list.length - at;
  if (root.moved > MAX_MOVED_ITEMS)
    throw fail(`the patch moves more than ${MAX_MOVED_ITEMS} items of lists`);
  list.splice(at, 1 - values.length, ...values);
}

function replace(root: Root, steps: readonly string[], value: JsonValue, fail: Fail): void {
  valueAt(root, steps, fail);
  const place = placeAt(root, steps, fail);
  if (place === undefined) root.value = value;
  else if (Array.isArray(place.parent)) place.parent[Number(place.step)] = value;
  else mapOf(place.parent, fail)[place.step] = value;
}
