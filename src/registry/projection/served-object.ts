/**
 * From the catalog to what readers see. An object is served from its last good manifest, its
 * identity from history, and what only the state store knows (status, managedFields, deletion).
 */
import {
  type Condition,
  cloneJson,
  dropEmptyMeta,
  isRecord,
  type JsonObject,
  jsonEqual,
  type KubeObject,
  type ObjectMeta,
  rfc3339,
  valueAt,
} from '../../apimachinery/index.ts';
import type { CatalogObject, Identity, ObjectChange } from '../../catalog/index.ts';
import {
  countsGenerations,
  type Kind,
  type KindTable,
  ownPart,
  schemaTree,
} from '../../kinds/index.ts';
import { formatProblem, type Problem } from '../../manifests/index.ts';
import type { Change, Store, StoredObject } from '../../state/index.ts';
import { type FieldWrite, recordAfter } from '../writes/field-managers.ts';
import { shownObject } from './object-with-managed-fields.ts';

/** The condition of an object whose newest manifest is not served (invariant 5). */
export const DEGRADED = 'Degraded';
/** The condition of an object whose secrets git holds in the clear. */
const SEALED = 'Sealed';

/** Graceful deletion, where a client asked for it (spec section 3). */
export interface Deletion {
  /** Seconds the object stays readable; 0 when only finalizers hold it. */
  readonly gracePeriodSeconds: number;
  /** What the object is held by from then on; absent: what it is held by already. */
  readonly finalizers?: readonly string[] | undefined;
}

/** When a change happened, and how deletions are to be done. */
export interface ProjectionContext {
  readonly kinds: KindTable;
  readonly store: Pick<Store, 'get'>;
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly deletion?: Deletion | undefined;
  /** What an API write does to the record of who owns which field. */
  readonly fields?: FieldWrite | undefined;
}

/** What the state store has to do so that readers see what the catalog says. */
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
  const isKept = source.partial === true && sameLife;
  const put: Change = { type: 'put', key, ...(isKept ? withValues(served, previous) : served) };
  return previous === undefined || sameLife ? [put] : [{ type: 'remove', key }, put];
}

/** What readers saw before the key was lost is all that is left of it. */
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
  // Git has it no more, and nothing else would tell whose it was.
  const recorded = kind === undefined ? previous.object : shownObject(kind, previous);
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

/** Whether an object stays readable when its manifest is gone. */
export function isHeld({ metadata }: KubeObject, { gracePeriodSeconds }: Deletion): boolean {
  return gracePeriodSeconds > 0 || (metadata.finalizers ?? []).length > 0;
}

/** The same object where nothing changes. */
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

/** The object with its deletion noted; a deletion that already runs is only ever shortened. */
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
      // As in Kubernetes: it counts where somebody counts.
      ...(meta.generation === undefined ? {} : { generation: meta.generation + (first ? 1 : 0) }),
      deletionTimestamp: rfc3339(deadline),
      deletionGracePeriodSeconds: grace,
    },
  };
}

/** Whether nothing holds a terminating object any more. */
export function isFinished(object: KubeObject, time: number): boolean {
  const { deletionTimestamp, finalizers = [] } = object.metadata;
  return (
    deletionTimestamp !== undefined &&
    finalizers.length === 0 &&
    Date.parse(deletionTimestamp) <= time
  );
}

/** What an object is served from. */
export interface ServedSource extends Pick<CatalogObject, 'manifest' | 'problems'> {
  readonly identity: Pick<Identity, 'uid' | 'generation' | 'creationTimestamp'>;
  /** Secrets that its file holds in the clear. */
  readonly clear?: readonly Problem[] | undefined;
  /** Of an access key: the owner that it was made for. */
  readonly ownerUid?: string | undefined;
}

/** Beside an access key, out of sight: the uid of the User or Team that it was made for. */
export const OWNER_UID = 'owner uid';

/** Builds the served form and what is kept beside it. */
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
    hidden[path.join('.')] = value as string;
  }
  return object;
}

function servedStatus(
  kind: Kind,
  object: KubeObject,
  context: { previous: StoredObject | undefined; source: ServedSource; time: number },
): JsonObject | undefined {
  const kept = context.previous?.object.status;
  const derived = kind.deriveStatus(object);
  const base = derived ?? kept;
  const old = conditionsOf(kept);
  // What a controller said of the object stays until that controller says otherwise.
  const said = derived?.['conditions'] === undefined ? kept : derived;
  const others = conditionsOf(said).filter(({ type }) => type !== DEGRADED && type !== SEALED);
  const found = [degradedCondition(context, old), sealedCondition(context, old)];
  const conditions = [...others, ...found.filter((condition) => condition !== undefined)];
  const { conditions: _replaced, ...rest } = base ?? {};
  if (conditions.length === 0 && Object.keys(rest).length === 0 && !hasStatus(kind))
    return undefined;
  return conditions.length === 0
    ? rest
    : { ...rest, conditions: conditions as unknown as JsonObject[] };
}

function hasStatus({ schema }: Kind): boolean {
  return schemaTree(schema).properties?.['status'] !== undefined;
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

/** Only of an object whose secrets are in git in the clear; its message is no secret. */
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

export function conditionsOf(status: JsonObject | undefined): Condition[] {
  const list = status?.['conditions'];
  return Array.isArray(list) ? (list as unknown as Condition[]) : [];
}
