/**
 * Projection of the catalog to what readers see: the last good manifest, the identity from history,
 * and the facts that only the state store has (status, managedFields, deletion).
 */
import {
  type Condition,
  cloneJson,
  dropEmptyMeta,
  isRecord,
  type JsonObject,
  jsonEqual,
  type KubeObject,
  listAt,
  type ObjectMeta,
  rfc3339,
  valueAt,
} from '../../apimachinery/index.ts';
import type { CatalogObject, Identity, ObjectChange } from '../../catalog/index.ts';
import {
  countsGenerations,
  hasStatus,
  type Kind,
  type KindTable,
  ownPart,
} from '../../kinds/index.ts';
import { formatProblem, type Problem } from '../../manifests/index.ts';
import type { Change, Store, StoredObject } from '../../state/index.ts';
import { type FieldWrite, recordAfter } from '../writes/field-managers.ts';
import { recordedObject } from './object-with-managed-fields.ts';

/** Condition of an object whose newest manifest is not served (invariant 5). */
export const DEGRADED = 'Degraded';
/** Condition of an object with plaintext secrets in git. */
const SEALED = 'Sealed';

/** Graceful deletion that a client asked for (spec section 3). */
export interface Deletion {
  /** Seconds that the object stays readable; 0 if only finalizers delay the removal. */
  readonly gracePeriodSeconds: number;
  /** New finalizers of the object; absent: they stay. */
  readonly finalizers?: readonly string[] | undefined;
}

/** Time of a change, and options of its deletions. */
export interface ProjectionContext {
  readonly kinds: KindTable;
  readonly store: Pick<Store, 'get'>;
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly deletion?: Deletion | undefined;
  /** The write's effect on `managedFields`. */
  readonly fields?: FieldWrite | undefined;
}

/** Changes of the state store that show the catalog to readers. */
export function projectChanges(
  context: ProjectionContext,
  changes: readonly ObjectChange[],
): Change[] {
  return changes.flatMap((change) => projectChange(context, change));
}

export function projectChange(context: ProjectionContext, change: ObjectChange): Change[] {
  const { key, after } = change;
  const previous = context.store.get(key);
  if (after === undefined) return previous === undefined ? [] : [removal(context, previous)];
  const { manifest, identity, problems, source, ownerUid } = after;
  const kind = context.kinds.byKind(manifest.apiVersion, key.kind);
  if (kind === undefined) return [];
  const sameLife = previous?.object.metadata.uid === identity.uid;
  const served = serveObject(
    kind,
    { manifest, identity, problems, clear: source.clear, ownerUid },
    {
      previous: sameLife ? previous : undefined,
      time: context.time,
    },
  );
  const record = recordAfter(kind, {
    before: sameLife && previous !== undefined ? ownPart(kind, previous.object) : undefined,
    after: served.object,
    write: context.fields,
    isInGit: true,
    time: rfc3339(context.time),
  });
  delete served.object.metadata.managedFields;
  if (record !== undefined) served.object.metadata.managedFields = record;
  const keepsValues = source.partial === true && sameLife;
  const put: Change = {
    type: 'put',
    key,
    ...(keepsValues ? withValues(served, previous) : served),
  };
  return previous === undefined || sameLife ? [put] : [{ type: 'remove', key }, put];
}

/** The key is lost; the last served values are all that is left. */
function withValues(
  served: Pick<StoredObject, 'object' | 'hidden'>,
  { object: before, hidden }: StoredObject,
): Pick<StoredObject, 'object' | 'hidden'> {
  const { metadata, status } = served.object;
  return { object: { ...before, metadata, ...(status === undefined ? {} : { status }) }, hidden };
}

function removal(context: ProjectionContext, previous: StoredObject): Change {
  const { key, hidden } = previous;
  const deletion = context.deletion ?? { gracePeriodSeconds: 0 };
  const kind = context.kinds.byKind(previous.object.apiVersion, key.kind);
  // The manifest is gone from git, so its managers are recorded now.
  const recorded = kind === undefined ? previous.object : recordedObject(kind, previous);
  const object = withFinalizers(recorded, deletion.finalizers);
  if (!isHeld(object, deletion)) return { type: 'remove', key };
  const { gracePeriodSeconds } = deletion;
  return {
    type: 'put',
    key,
    object: terminating(object, gracePeriodSeconds, context.time),
    hidden,
  };
}

/** True if an object stays readable after its manifest is gone. */
export function isHeld({ metadata }: KubeObject, { gracePeriodSeconds }: Deletion): boolean {
  return gracePeriodSeconds > 0 || (metadata.finalizers ?? []).length > 0;
}

/** Returns the same object if nothing changes. */
export function withFinalizers(
  object: KubeObject,
  finalizers: readonly string[] | undefined,
): KubeObject {
  const before = object.metadata.finalizers ?? [];
  if (finalizers === undefined || jsonEqual(before, finalizers)) return object;
  const { finalizers: _before, ...metadata } = object.metadata;
  const held = finalizers.length === 0 ? {} : { finalizers: [...finalizers] };
  return { ...object, metadata: { ...metadata, ...held } };
}

/** Marks the object as terminating. A running grace period can only be shortened. */
export function terminating(object: KubeObject, grace: number, time: number): KubeObject {
  const meta = object.metadata;
  const first = meta.deletionTimestamp === undefined;
  const deadline = time + grace * 1000;
  const earlier = first ? Number.POSITIVE_INFINITY : Date.parse(meta.deletionTimestamp ?? '');
  if (!first && earlier <= deadline) return object;
  return {
    ...object,
    metadata: {
      ...meta,
      // As in Kubernetes: only kinds that count generations get a new one.
      ...(meta.generation === undefined ? {} : { generation: meta.generation + (first ? 1 : 0) }),
      deletionTimestamp: rfc3339(deadline),
      deletionGracePeriodSeconds: grace,
    },
  };
}

/** True if neither finalizers nor a grace period delay the removal of a terminating object. */
export function isFinished(object: KubeObject, time: number): boolean {
  const { deletionTimestamp, finalizers = [] } = object.metadata;
  return (
    deletionTimestamp !== undefined &&
    finalizers.length === 0 &&
    Date.parse(deletionTimestamp) <= time
  );
}

/** Sources of a served object. */
export interface ServedSource extends Pick<CatalogObject, 'manifest' | 'problems'> {
  readonly identity: Pick<Identity, 'uid' | 'generation' | 'creationTimestamp'>;
  /** Plaintext secrets in its file. */
  readonly clear?: readonly Problem[] | undefined;
  /** Of an object with an owner binding: uid of that owner. */
  readonly ownerUid?: string | undefined;
}

/**
 * Hidden field: uid of the User or Team that an access key was made for, or of the shared secret that a project
 * secret follows.
 */
export const OWNER_UID = 'owner uid';

/** Builds the served object and its hidden fields. */
export function serveObject(
  kind: Kind,
  source: ServedSource,
  context: { previous: StoredObject | undefined; time: number },
): { object: KubeObject; hidden: JsonObject | undefined } {
  const { manifest, identity, ownerUid } = source;
  const hidden: JsonObject = ownerUid === undefined ? {} : { [OWNER_UID]: ownerUid };
  const object = withoutWriteOnly(kind, manifest, hidden);
  object.metadata = servedMeta(kind, source, context.previous);
  dropEmptyMeta(object.metadata);
  kind.setDefaults(object);
  const status = servedStatus(kind, object, { ...context, source });
  delete object.status;
  if (status !== undefined) object.status = status;
  if (countsGenerations(kind)) object.metadata.generation = identity.generation;
  return { object, hidden: Object.keys(hidden).length === 0 ? undefined : hidden };
}

function servedMeta(
  kind: Kind,
  { identity, manifest }: ServedSource,
  previous: StoredObject | undefined,
): ObjectMeta {
  const { name = '', namespace, ...rest } = manifest.metadata;
  const managedFields = previous?.object.metadata.managedFields;
  return {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    uid: identity.uid,
    ...(countsGenerations(kind) ? { generation: identity.generation } : {}),
    creationTimestamp: identity.creationTimestamp,
    ...rest,
    ...(managedFields === undefined ? {} : { managedFields }),
  };
}

/** A copy deep enough that removing fields and setting defaults never touches the manifest. */
function withoutWriteOnly(kind: Kind, manifest: KubeObject, hidden: JsonObject): KubeObject {
  const object = cloneJson(manifest);
  for (const { path } of kind.writeOnly) {
    const value = valueAt(object, path);
    if (value === undefined) continue;
    const parent = valueAt(object, path.slice(0, -1));
    const field = path.at(-1);
    if (isRecord(parent) && field !== undefined) delete parent[field];
    hidden[path.join('.')] = value;
  }
  return object;
}

function servedStatus(
  kind: Kind,
  object: KubeObject,
  context: { previous: StoredObject | undefined; source: ServedSource; time: number },
): JsonObject | undefined {
  const previous = context.previous?.object.status;
  const derived = kind.deriveStatus(object);
  const base = derived ?? previous;
  const old = conditionsOf(previous);
  // Conditions of a controller stay until that controller changes them.
  const reported = derived?.['conditions'] === undefined ? previous : derived;
  const others = conditionsOf(reported).filter(({ type }) => type !== DEGRADED && type !== SEALED);
  const found = [degradedCondition(context, old), sealedCondition(context, old)];
  const conditions = [...others, ...found.filter((condition) => condition !== undefined)];
  const { conditions: _replaced, ...rest } = base ?? {};
  if (conditions.length === 0 && Object.keys(rest).length === 0 && !hasStatus(kind))
    return undefined;
  return conditions.length === 0 ? rest : { ...rest, conditions: conditions };
}

function degradedCondition(
  context: { source: ServedSource; time: number },
  old: readonly Condition[],
): Condition | undefined {
  const { problems } = context.source;
  if (problems.length === 0) return undefined;
  const before = old.find((condition) => condition.type === DEGRADED);
  return {
    type: DEGRADED,
    status: 'True',
    severity: 'Error',
    reason: problems.some(({ unreadable }) => unreadable) ? 'Unreadable' : 'ManifestInvalid',
    message: problems.map(formatProblem).join('\n'),
    lastTransitionTime: before?.lastTransitionTime ?? rfc3339(context.time),
  };
}

/** Present only if the object has plaintext secrets in git. The message contains no secret. */
function sealedCondition(
  context: { source: ServedSource; time: number },
  old: readonly Condition[],
): Condition | undefined {
  const [first] = context.source.clear ?? [];
  if (first === undefined) return undefined;
  const before = old.find((condition) => condition.type === SEALED);
  return {
    type: SEALED,
    status: 'False',
    severity: 'Warning',
    reason: 'SecretsInClear',
    message: formatProblem(first),
    lastTransitionTime: before?.lastTransitionTime ?? rfc3339(context.time),
  };
}

/** True if the last good version is served in the place of an invalid manifest. */
export function isDegraded({ status }: KubeObject): boolean {
  return conditionsOf(status).some((one) => one.type === DEGRADED && one.status === 'True');
}

export function conditionsOf(status: JsonObject | undefined): readonly Condition[] {
  return listAt<Condition>(status, ['conditions']);
}
