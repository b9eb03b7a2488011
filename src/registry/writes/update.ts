/** PUT and PATCH: a change of a served object becomes a splice of its manifest. */
import {
  fillDefaults,
  objectProblems,
  objectWarnings,
  sameDesiredState,
} from '../../admission/index.ts';
import {
  badRequest,
  conflict,
  type FieldPath,
  formatPath,
  invalid,
  invalidObject,
  isRecord,
  jsonEqual,
  type KubeObject,
  notFound,
  type ObjectKey,
  rfc3339,
  SERVER_POPULATED_META,
  withWarnings,
} from '../../apimachinery/index.ts';

import type { Managers } from '../../field-management/index.ts';
import { countsGenerations, type Kind, ownPart, type SecretPaths } from '../../kinds/index.ts';
import { defaultPath, fanOutPaths } from '../../manifests/index.ts';
import type { Change, StoredObject } from '../../state/index.ts';
import { isStale } from '../activity.ts';
import { ownVersion } from '../projection/derived-secrets.ts';
import { withRecord } from '../projection/object-with-managed-fields.ts';
import { isDegraded, isFinished } from '../projection/served-object.ts';
import { authorOf, commitMessage } from './commit-message.ts';
import { decodeObject } from './decode.ts';
import {
  type FieldWrite,
  managerOf,
  recordAfter,
  recordSent,
  sameRecord,
} from './field-managers.ts';
import { applyGuards, refuseAnother } from './guards.ts';
import { missingDependencies } from './missing-dependencies.ts';
import { desiredPart, patchManifest } from './patch-manifest.ts';
import { isStateObject, updatedInState } from './state-objects.ts';
import type { TextEdit } from './text-edit.ts';
import type { InFlight, Prepared, Write } from './write.ts';
import { type DecisionParts, keyOf, type Target, type WriteOptions } from './write-context.ts';
import {
  byPath,
  type Concealed,
  takeWriteOnly,
  withConcealed,
  withoutFields,
} from './write-only.ts';

export interface UpdateRequest extends Target {
  /** A rollback also restores write-only values, which no body contains. */
  readonly verb: 'update' | 'patch' | 'rollback';
  /** Returns the wanted object from the present one; called once per attempt. */
  change(current: KubeObject): unknown;
  /**
   * Set if a missing object may be created: checks the right to create, and returns the new object.
   */
  create?: (() => unknown) | undefined;
  /** Of a rollback: paths that the past file encrypts beside the secret fields of the kind. */
  readonly encrypted?: SecretPaths | undefined;
  /** Text that replaces the document in git, and means what `change` returns. */
  readonly text?: TextEdit | undefined;
  /** Field managers computed by an apply; called after `change`. */
  managers?(): Managers;
  readonly duplicates: readonly string[];
  readonly options: WriteOptions;
}

/** An update, ready to be decided under the mutex; the accessors are valid after that. */
export interface PreparedUpdate extends Write {
  /** Warnings of the last attempt. */
  warnings(): readonly string[];
  /** The object wanted by the last attempt; for dry runs. */
  preview(): KubeObject | undefined;
}

export function prepareUpdate(parts: DecisionParts, request: UpdateRequest): PreparedUpdate {
  const { kind, name } = request;
  const key = keyOf(request);
  let last: Wanted | undefined;
  return {
    key,
    warnings: () => last?.warnings ?? [],
    preview: () => last?.object,
    prepare: (inFlight) => {
      const stored = parts.store.get(key);
      if (stored === undefined) throw notFound(kind, name);
      refuseAnother(request, stored);
      if (request.verb === 'rollback') refuseTerminating(request, stored);
      const current = withRecord(kind, ownVersion(kind, stored));
      last = wanted(parts, request, { current, shown: stored, inFlight });
      return plan(parts, request, { current, last });
    },
  };
}

interface Wanted {
  readonly object: KubeObject;
  readonly fields: FieldWrite;
  readonly concealed: Concealed;
  readonly warnings: readonly string[];
}

/** `current` is stored without derived data, `shown` with it. */
function wanted(
  parts: DecisionParts,
  request: UpdateRequest,
  present: { current: StoredObject; shown: StoredObject; inFlight: InFlight | undefined },
): Wanted {
  const { kind, options } = request;
  const schema = parts.kinds.schemaOf(kind);
  const body = request.change(present.current.object);
  const { object: sent, warnings } = decodeObject(identified(body, request), {
    ...request,
    ...options,
    schema,
    isPatch: request.verb === 'patch',
  });
  return withWarnings(warnings, () => wantedOf(parts, request, { sent, warnings, ...present }));
}

function wantedOf(
  parts: DecisionParts,
  request: UpdateRequest,
  of: {
    sent: KubeObject;
    warnings: readonly string[];
    current: StoredObject;
    shown: StoredObject;
    inFlight: InFlight | undefined;
  },
): Wanted {
  const { kind, options } = request;
  const { sent, warnings, current, shown, inFlight } = of;
  const schema = parts.kinds.schemaOf(kind);
  const object = withoutDerivedData(kind, sent, shown.object);
  checkPreconditions(request, object, current);
  const fields = fieldWrite(request, object.metadata.managedFields, current.object);
  restoreServerFields(object, current.object);
  kind.canonicalize(object);
  const { concealed, problems } = takeWriteOnly(kind, object, false);
  fillDefaults(kind, schema, object);
  const errors = [...objectProblems(kind, schema, { object, old: current.object }), ...problems];
  if (errors.length > 0) throw invalidObject(kind, request.name, errors);
  const change = { user: options.user, kind, object, old: current.object, inFlight };
  applyGuards(parts.guards, { ...change, brings: byPath(concealed) });
  // A committed write gets its generation from history; a dry run has none.
  if (countsGenerations(kind) && !sameDesiredState(object, current.object)) {
    object.metadata.generation = (current.object.metadata.generation ?? 0) + 1;
  }
  addManagedFields(parts, { kind, object, fields, current });
  const restored = request.verb === 'rollback' ? restoredValues(current, concealed) : [];
  const absent = missingDependencies(parts, { kind, object, user: options.user });
  const all = [...warnings, ...objectWarnings(kind, object), ...absent, ...restored];
  return { object, fields, concealed, warnings: all };
}

/** Removes derived data from a body that was read, changed and sent back. */
function withoutDerivedData(kind: Kind, sent: KubeObject, served: KubeObject): KubeObject {
  return jsonEqual(sent.spec?.['data'], served.spec?.['data']) ? ownPart(kind, sent) : sent;
}

function fieldWrite(request: UpdateRequest, sent: unknown, live: KubeObject): FieldWrite {
  if (request.managers !== undefined) return { do: 'replace', managers: request.managers() };
  const base = recordSent(sent, live);
  if (base === 'forget') return { do: 'replace', managers: new Map() };
  return { do: 'update', manager: managerOf(request.kind, request.options.fieldManager), base };
}

/** Adds the managed fields to the object. */
function addManagedFields(
  parts: DecisionParts,
  of: { kind: Kind; object: KubeObject; fields: FieldWrite; current: StoredObject },
): void {
  const { kind, object, fields, current } = of;
  const time = rfc3339(parts.clock.now());
  const before = current.object;
  const isInGit = !isStateObject(current);
  const record = recordAfter(kind, { before, after: object, write: fields, isInGit, time });
  delete object.metadata.managedFields;
  if (record !== undefined) object.metadata.managedFields = record;
}

/** Nothing in git can be restored: the manifest is gone, and the object soon too. */
function refuseTerminating({ kind, name }: UpdateRequest, current: StoredObject): void {
  if (current.object.metadata.deletionTimestamp === undefined) return;
  throw conflict(kind, name, 'the object is being deleted; try again when it is gone');
}

/** A replaced key may have been replaced for a reason. */
function restoredValues(current: StoredObject, concealed: Concealed): string[] {
  return [...concealed]
    .filter(([path, value]) => current.hidden?.[path.join('.')] !== value)
    .map(([path]) => `${formatPath(path)}: the value of that commit is in force again`);
}

/** The body must name the object of the URL. */
export function identified(body: unknown, request: Pick<UpdateRequest, 'name'>): unknown {
  const metadata = isRecord(body) ? (body['metadata'] ?? {}) : {};
  // The schema reports any other type, here and below.
  if (!isRecord(metadata)) return body;
  const own = metadata['name'];
  if (own === undefined || own === null || own === '') {
    throw badRequest(
      `the name of the object (${request.name} based on URL) was undeterminable: name must be provided`,
    );
  }
  if (typeof own === 'string' && own !== request.name) {
    throw badRequest(
      `the name of the object (${own}) does not match the name on the URL (${request.name})`,
    );
  }
  return body;
}

function checkPreconditions(
  request: UpdateRequest,
  object: KubeObject,
  current: StoredObject,
): void {
  const { kind, name } = request;
  const { resourceVersion = '', uid = '' } = object.metadata;
  const anyVersion = resourceVersion === '' || resourceVersion === '0';
  if (anyVersion && !kind.allowUnconditionalUpdate) {
    const path = ['metadata', 'resourceVersion'];
    const message = 'Invalid value: 0: must be specified for an update';
    // Kubernetes uses the resource name here only.
    throw invalidObject({ ...kind, kind: kind.plural }, name, [
      { type: 'FieldValueInvalid', path, message },
    ]);
  }
  refuseImmutable(request, object, current.object);
  if (uid !== '' && uid !== current.object.metadata.uid) {
    throw conflict(
      kind,
      name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${current.object.metadata.uid}`,
    );
  }
  if (!anyVersion && isStale(resourceVersion, current)) throw conflict(kind, name);
}

const DELETION = ['deletionTimestamp', 'deletionGracePeriodSeconds'] as const;

/**
 * Fields that only a deletion sets, and in a patch the identity: a PUT with another uid is a
 * conflict.
 */
function refuseImmutable(request: UpdateRequest, sent: KubeObject, live: KubeObject): void {
  const fields = request.verb === 'patch' ? (['uid', ...DELETION] as const) : DELETION;
  const errors = fields
    .filter((field) => sent.metadata[field] !== undefined && sent.metadata[field] !== '')
    .filter((field) => sent.metadata[field] !== live.metadata[field])
    .map((field) => invalid(['metadata', field], sent.metadata[field], 'field is immutable'));
  if (errors.length > 0) throw invalidObject(request.kind, request.name, errors);
}

function restoreServerFields(object: KubeObject, current: KubeObject): void {
  const live = current.metadata;
  for (const field of SERVER_POPULATED_META) {
    delete object.metadata[field];
    if (live[field] !== undefined) Object.assign(object.metadata, { [field]: live[field] });
  }
  delete object.metadata.selfLink;
  delete object.status;
  if (current.status !== undefined) object.status = current.status;
}

function plan(
  parts: DecisionParts,
  request: UpdateRequest,
  at: { current: StoredObject; last: Wanted },
): Prepared {
  const { current, last } = at;
  const { kind, options } = request;
  const hidden = ([path]: readonly [FieldPath, unknown?]): unknown =>
    current.hidden?.[path.join('.')];
  const dropped = kind.writeOnly
    .map(({ path }) => path)
    .filter((path) => request.verb === 'rollback' && !last.concealed.has(path));
  const secretsKept =
    [...last.concealed].every(([path, value]) => hidden([path]) === value) &&
    dropped.every((path) => hidden([path]) === undefined);
  const same =
    request.text === undefined && jsonEqual(desiredPart(last.object), desiredPart(current.object));
  // The last good version is written in the place of a manifest that is not valid.
  const mends = options.force === true && isDegraded(current.object);
  if (same && secretsKept && !mends) return ofRecordAlone(current, last.object);
  if (current.object.metadata.deletionTimestamp !== undefined) {
    if (request.text !== undefined) refuseTerminating(request, current);
    return finishing(parts, current, last.object);
  }
  if (isStateObject(current)) return updatedInState(current, last.object, byPath(last.concealed));
  return {
    do: 'commit',
    edit: {
      key: current.key,
      newPaths: fanOutPaths(defaultPath(parts.under, kind.plural, current.key)),
      force: options.force,
      text: request.text,
      encrypted: request.encrypted,
      manifest: (raw) =>
        raw === undefined
          ? withConcealed(desiredPart(last.object), last.concealed)
          : withConcealed(
              withoutFields(patchManifest(raw, current.object, last.object), dropped),
              last.concealed,
            ),
    },
    author: authorOf(options.user),
    message: commitMessage(request.verb, current.key, options),
    ...(request.text?.isVerbatim === true ? {} : { fields: last.fields }),
  };
}

/**
 * Managed fields are not part of the desired state and make no commit. A change of times alone is
 * not a change.
 */
function ofRecordAlone(current: StoredObject, wanted: KubeObject): Prepared {
  const { managedFields } = wanted.metadata;
  if (sameRecord(managedFields, current.object.metadata.managedFields)) return { do: 'nothing' };
  const { managedFields: _before, ...metadata } = current.object.metadata;
  const record = managedFields === undefined ? {} : { managedFields };
  const object = { ...current.object, metadata: { ...metadata, ...record } };
  const { key, hidden } = current;
  return { do: 'state', changes: [{ type: 'put', key, object, hidden }] };
}

/**
 * A terminating object has no manifest any more; it is removed when no finalizer or grace period
 * delays that.
 */
function finishing(parts: DecisionParts, current: StoredObject, object: KubeObject): Prepared {
  const key: ObjectKey = current.key;
  const change: Change = isFinished(object, parts.clock.now())
    ? { type: 'remove', key }
    : { type: 'put', key, object, hidden: current.hidden };
  return { do: 'state', changes: [change], durable: true };
}
