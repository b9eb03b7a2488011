/**
 * Server-side apply: the applied configuration becomes an update, or a create if the object does
 * not exist.
 */

import {
  applyConflict,
  badRequest,
  cloneJson,
  isRecord,
  type JsonObject,
  type JsonValue,
  type KubeObject,
  rfc3339,
  valueAt,
} from '../../apimachinery/index.ts';
import {
  type ApplyOfFields,
  applyManagers,
  compare,
  DuplicateItemError,
  FieldConflictError,
  FieldSet,
  fieldsOf,
  type Managers,
  type Owned,
  UNMANAGED_META,
} from '../../field-management/index.ts';
import { apiVersionOf, LAST_APPLIED, schemaTree } from '../../kinds/index.ts';
import { managedPart, managerOf, managersBeforeApply } from './field-managers.ts';
import type { Target, WriteOptions } from './write-context.ts';

export interface ApplyRequest extends Target {
  /** The decoded body: the full applied configuration. */
  readonly body: unknown;
  readonly duplicates: readonly string[];
  /** Takes over fields of other managers. */
  readonly force: boolean;
  readonly options: WriteOptions;
  /** Throws if the object must not be created. */
  beforeCreate(): void;
}

export interface Applied {
  readonly object: JsonObject;
  readonly managers: Managers;
}

/** The merged object. Throws 409 with the conflicting managers. */
export function applyTo(request: ApplyRequest, live: KubeObject | undefined, now: number): Applied {
  const { kind, force, options } = request;
  const time = rfc3339(now);
  const applied = wantedBy(request, live === undefined);
  const manager = managerOf(kind, options.fieldManager, 'Apply');
  const managers = live === undefined ? new Map() : managersBeforeApply(kind, live, time);
  const shape = schemaTree(kind.schema);
  const before = live === undefined ? {} : managedPart(live);
  const apply = { shape, live: before, applied, managers, manager, force, time };
  try {
    const result = manager.name === KUBECTL ? applyByKubectl(apply) : applyManagers(apply);
    const object = withIdentity(isRecord(result.object) ? result.object : {}, before);
    return { object, managers: result.managers };
  } catch (error) {
    if (error instanceof FieldConflictError) throw conflictOf(error);
    if (error instanceof DuplicateItemError) throw badRequest(error.message);
    throw error;
  }
}

/** An apply that removes all metadata of its manager does not remove the name. */
function withIdentity(object: JsonObject, { metadata: live }: JsonObject): JsonObject {
  const { metadata } = object;
  if (!isRecord(live) || (isRecord(metadata) && metadata['name'] !== undefined)) return object;
  const fields = UNMANAGED_META.filter((field) => live[field] !== undefined);
  const identity = Object.fromEntries(fields.map((field) => [field, live[field] ?? null]));
  return { ...object, metadata: { ...identity, ...(isRecord(metadata) ? metadata : {}) } };
}

const KUBECTL = 'kubectl';

/** Fields that kubectl applied on the client side may be changed here without a conflict. */
function applyByKubectl(apply: ApplyOfFields): ReturnType<typeof applyManagers> {
  const { object: shared, managers } = withoutOwnConflicts(apply);
  const object = cloneJson(shared);
  const annotations = valueAt(object, ANNOTATIONS);
  if (isRecord(annotations) && annotations[LAST_APPLIED]) {
    annotations[LAST_APPLIED] = lastAppliedText(apply.applied as JsonObject);
  }
  return { object, managers };
}

function withoutOwnConflicts(apply: ApplyOfFields): ReturnType<typeof applyManagers> {
  try {
    return applyManagers(apply);
  } catch (error) {
    if (!(error instanceof FieldConflictError)) throw error;
    const allowed = stillAsLastApplied(apply);
    const conflicts = error.conflicts
      .map(({ owner, fields }) => ({ owner, fields: fields.difference(allowed) }))
      .filter(({ fields }) => !fields.isEmpty);
    if (conflicts.length > 0) throw new FieldConflictError(conflicts, { cause: error });
    return applyManagers({ ...apply, force: true });
  }
}

/** Fields that still have the values of the last client-side apply. */
function stillAsLastApplied({ shape, live }: ApplyOfFields): FieldSet {
  const text = valueAt(live, [...ANNOTATIONS, LAST_APPLIED]);
  const last = typeof text === 'string' ? parsed(text) : undefined;
  if (last === undefined) return new FieldSet();
  const { added, modified, removed } = compare(shape, last, live);
  return fieldsOf(shape, last).difference(added.union(modified).union(removed));
}

function parsed(text: string): JsonObject | undefined {
  try {
    const value: JsonValue = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The format of kubectl: the object without the annotation itself. */
function lastAppliedText(applied: JsonObject): string {
  const copy = cloneJson(applied);
  const annotations = valueAt(copy, ANNOTATIONS);
  if (isRecord(annotations)) delete annotations[LAST_APPLIED];
  return `${JSON.stringify(copy)}\n`;
}

const ANNOTATIONS = ['metadata', 'annotations'];

/** Throws 400 for fields that an apply must not have. */
function wantedBy({ kind, body, name, namespace }: ApplyRequest, isNew: boolean): JsonObject {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw badRequest('an apply patch must be a map');
  }
  const { status: _status, ...wanted } = cloneJson(body) as JsonObject;
  const { metadata } = wanted;
  if (wanted['apiVersion'] !== apiVersionOf(kind) || wanted['kind'] !== kind.kind) {
    throw badRequest(
      `invalid object type: ${String(wanted['apiVersion'] ?? '')}, Kind=${String(wanted['kind'] ?? '')}; this is ${apiVersionOf(kind)}, Kind=${kind.kind}`,
    );
  }
  const meta = metadata ?? {};
  if (!isRecord(meta)) throw badRequest('an apply patch: metadata must be a map');
  if (meta['managedFields'] !== undefined) throw badRequest('metadata.managedFields must be nil');
  const own = meta['name'];
  if (own === undefined && (isNew || !kind.strategicMerge)) {
    throw badRequest(
      `the name of the object (${name} based on URL) was undeterminable: name must be provided`,
    );
  }
  if (own !== undefined && own !== name) {
    const shown = typeof own === 'string' ? own : JSON.stringify(own);
    throw badRequest(
      `the name of the object (${shown}) does not match the name on the URL (${name})`,
    );
  }
  const place = namespace === '' ? {} : { namespace };
  return { ...wanted, metadata: { ...place, ...meta, name } };
}

function conflictOf({ conflicts }: FieldConflictError): Error {
  return applyConflict(
    conflicts.flatMap(({ owner, fields }) =>
      [...fields.paths()].map((path) => ({ manager: describe(owner), path })),
    ),
  );
}

function describe({ manager }: Owned): string {
  const { name, subresource, operation, apiVersion } = manager;
  const part = subresource === '' ? '' : ` with subresource ${JSON.stringify(subresource)}`;
  const who = `${JSON.stringify(name)}${part}`;
  if (operation === 'Apply') return who;
  return `${who} using ${apiVersion}`;
}
