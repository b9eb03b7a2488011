/**
 * Field management of served objects: `metadata.managedFields` follows every change. An object that
 * only git changed belongs to the manager `git`: its record is computed from it, and is stored from
 * the first API change on. An object that the API creates has a stored record from the start.
 */
import {
  isRecord,
  type JsonObject,
  jsonEqual,
  type KubeObject,
  type ManagedFieldsEntry,
} from '../../apimachinery/index.ts';
import {
  capUpdaters,
  fieldsText,
  type Manager,
  type Managers,
  managerId,
  type Owned,
  readManagers,
  updateManagers,
  writeManagers,
} from '../../field-management/index.ts';
import { apiVersionOf, type Kind, ownPart, schemaTree } from '../../kinds/index.ts';

/** Effect of a write on the managed fields. */
export type FieldWrite =
  /**
   * The manager takes the fields that the write changes. `base`: the record that the client sent.
   */
  | { readonly do: 'update'; readonly manager: Manager; readonly base?: Managers | undefined }
  /** The record was computed with the object, or is replaced by this one. */
  | { readonly do: 'replace'; readonly managers: Managers };

/** Manager of fields that pushed commits change. */
const GIT = 'git';
/** Manager of fields that existed before the first apply, for objects that are not in git. */
const BEFORE_FIRST_APPLY = 'before-first-apply';

/** `name`: the name that the client gave, if any. */
export function managerOf(
  kind: Kind,
  name = 'unknown',
  operation: Manager['operation'] = 'Update',
): Manager {
  return { name, operation, apiVersion: apiVersionOf(kind), subresource: '' };
}

export interface FieldChange {
  /** Undefined: the object is new. */
  readonly before: KubeObject | undefined;
  readonly after: KubeObject;
  /** Undefined: the change came from git. */
  readonly write: FieldWrite | undefined;
  /** Git has the object: without a record, all earlier fields belong to git. */
  readonly isInGit: boolean;
  /** RFC 3339. */
  readonly time: string;
}

/** The record after a change; undefined: none is stored. */
export function recordAfter(kind: Kind, change: FieldChange): ManagedFieldsEntry[] | undefined {
  const { before, after, write, time } = change;
  if (write?.do === 'replace') return recordOf(write.managers);
  const { managedFields } = before?.metadata ?? {};
  const isWritten = write !== undefined;
  const known = write?.base ?? recorded(kind, change, isWritten && change.isInGit);
  const isNew = before === undefined && isWritten;
  if (!isNew && (known === undefined || known.size === 0)) return managedFields;
  const manager = write?.manager ?? gitManager(kind);
  const managers = updateManagers({
    shape: schemaTree(kind.schema),
    before: before === undefined ? kind.blank : managedPart(before),
    after: managedPart(after),
    managers: known ?? new Map(),
    manager,
    time,
  });
  return recordOf(capUpdaters(managers));
}

/** `isGits`: without a record, git manages all fields. */
function recorded(
  kind: Kind,
  { before }: FieldChange,
  isGits: boolean,
): Map<string, Owned> | undefined {
  const found = readManagers(before?.metadata.managedFields);
  if (before === undefined || !isGits || (found !== undefined && found.size > 0)) return found;
  return readManagers(gitRecord(kind, before));
}

export function gitManager(kind: Kind): Manager {
  return managerOf(kind, GIT);
}

/**
 * The record of an object that git alone manages, computed from the object. Its time is the
 * creation time.
 */
export function gitRecord(kind: Kind, object: KubeObject): ManagedFieldsEntry[] {
  const text = gitRecordText(kind, object);
  return text === undefined ? [] : (JSON.parse(text) as ManagedFieldsEntry[]);
}

/** The same as JSON; undefined if the object has no managed fields. */
export function gitRecordText(kind: Kind, object: KubeObject): string | undefined {
  const fields = fieldsText(
    schemaTree(kind.schema),
    managedPart(ownPart(kind, object)),
    kind.blank,
  );
  if (fields === '') return undefined;
  const { name, apiVersion } = gitManager(kind);
  const { creationTimestamp } = object.metadata;
  const time = creationTimestamp ? `,"time":${JSON.stringify(creationTimestamp)}` : '';
  return `[{"manager":"${name}","operation":"Update","apiVersion":"${apiVersion}"${time},"fieldsType":"FieldsV1","fieldsV1":${fields}}]`;
}

function recordOf(managers: Managers): ManagedFieldsEntry[] | undefined {
  return managers.size === 0 ? undefined : writeManagers(managers);
}

/** Managers of an object before an apply. */
export function managersBeforeApply(kind: Kind, live: KubeObject, time: string): Managers {
  const known = readManagers(live.metadata.managedFields);
  if (known !== undefined && known.size > 0) return known;
  return updateManagers({
    shape: schemaTree(kind.schema),
    before: {},
    after: managedPart(live),
    managers: new Map(),
    manager: managerOf(kind, BEFORE_FIRST_APPLY),
    time,
  });
}

/**
 * The managed part of an object: without the status, which the server writes, and without the
 * record itself.
 */
export function managedPart(object: KubeObject): JsonObject {
  const { status: _status, metadata, ...rest } = object;
  const { managedFields: _record, ...meta } = metadata;
  return { ...rest, metadata: meta };
}

/**
 * The record that an update sends to change it. An empty one resets the record. An unreadable one
 * is ignored, as from a client that does not know the field.
 */
export function recordSent(sent: unknown, live: KubeObject): Managers | 'forget' | undefined {
  if (!Array.isArray(sent)) return undefined;
  if (jsonEqual(sent, live.metadata.managedFields ?? [])) {
    return undefined;
  }
  const isEmpty = (entry: unknown): boolean => isRecord(entry) && Object.keys(entry).length === 0;
  if (sent.length === 1 && isEmpty(sent[0])) return 'forget';
  const managers = readManagers(sent);
  return managers === undefined || managers.size === 0 ? undefined : managers;
}

/** True if two records differ at most in their times. */
export function sameRecord(
  one: readonly ManagedFieldsEntry[] | undefined,
  other: readonly ManagedFieldsEntry[] | undefined,
): boolean {
  const [a, b] = [readManagers(one ?? []), readManagers(other ?? [])];
  if (a === undefined || b === undefined || a.size !== b.size) return false;
  return [...a.values()].every(({ manager, fields }) => {
    const same = b.get(managerId(manager));
    return same?.fields.equals(fields) === true;
  });
}
