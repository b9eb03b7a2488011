/**
 * DELETE: the manifest is removed at once; the object when no finalizer or grace period delays it
 * (spec section 3).
 */
import { conflict, forbiddenError, type KubeObject, notFound } from '../../apimachinery/index.ts';
import type { StoredObject } from '../../state/index.ts';
import { isStale } from '../activity.ts';
import { isFinished, isHeld, terminating, withFinalizers } from '../projection/served-object.ts';
import { authorOf, commitMessage } from './commit-message.ts';
import { FOREGROUND, ORPHAN } from './finalizers.ts';
import { applyGuards, refuseAnother } from './guards.ts';
import { isStateObject } from './state-objects.ts';
import type { Prepared, Write } from './write.ts';
import { type DecisionParts, keyOf, type Target, type WriteOptions } from './write-context.ts';

/** Handling of the dependents of a deleted object. */
export type PropagationPolicy = 'Background' | 'Foreground' | 'Orphan';

export interface DeleteOptions {
  /** Seconds; absent or 0 removes at once. */
  readonly gracePeriodSeconds?: number | undefined;
  /** Absent: the finalizers of the object decide, otherwise `Background`. */
  readonly propagationPolicy?: PropagationPolicy | undefined;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
}

export interface DeleteRequest extends Target {
  readonly delete: DeleteOptions;
  readonly options: WriteOptions;
}

/** An object with this annotation cannot be deleted through the API. */
const NON_DELETABLE = 'gitplane.dev/non-deletable';

export interface PreparedDelete extends Write {
  /** The object that `prepare` found. */
  found(): StoredObject | undefined;
}

export function prepareDelete(parts: DecisionParts, request: DeleteRequest): PreparedDelete {
  const { kind, name } = request;
  const key = keyOf(request);
  let found: StoredObject | undefined;
  return {
    key,
    found: () => found,
    prepare: () => {
      found = parts.store.get(key);
      if (found === undefined) throw notFound(kind, name);
      refuseAnother(request, found);
      checkPreconditions(request, found);
      const { user } = request.options;
      applyGuards(parts.guards, { user, kind, object: undefined, old: found.object });
      return plan(parts, request, found);
    },
  };
}

function checkPreconditions(request: DeleteRequest, found: StoredObject): void {
  const { kind, name } = request;
  const { uid, resourceVersion } = request.delete;
  // Kubernetes uses the kind here; all other conflicts use the resource.
  const byKind = { ...kind, plural: kind.kind };
  const meta = found.object.metadata;
  if (uid !== undefined && uid !== meta.uid) {
    throw conflict(
      byKind,
      name,
      `the UID in the precondition (${uid}) does not match the UID in record (${meta.uid}). The object might have been deleted and then recreated`,
    );
  }
  if (resourceVersion !== undefined && isStale(resourceVersion, found)) {
    throw conflict(
      byKind,
      name,
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${meta.resourceVersion}). The object might have been modified`,
    );
  }
  if (meta.annotations?.[NON_DELETABLE] === 'true') {
    throw forbiddenError(
      `${kind.plural}.${kind.group} ${JSON.stringify(name)} is forbidden: annotation ${NON_DELETABLE} protects it; remove the annotation first`,
      kind,
      name,
    );
  }
}

function plan(parts: DecisionParts, request: DeleteRequest, found: StoredObject): Prepared {
  const gracePeriodSeconds = gracePeriod(request.delete.gracePeriodSeconds);
  const { key, hidden } = found;
  const finalizers = finalizersFor(request.delete.propagationPolicy, found.object);
  const object = withFinalizers(found.object, finalizers);
  if (object.metadata.deletionTimestamp === undefined && !isStateObject(found)) {
    const deletion = { gracePeriodSeconds, finalizers };
    return {
      do: 'commit',
      edit: { key, newPaths: [], removes: true, manifest: () => null },
      author: authorOf(request.options.user),
      message: commitMessage('delete', key, request.options),
      ...(isHeld(object, deletion) ? { deletion } : {}),
    };
  }
  const now = parts.clock.now();
  const next = terminating(object, gracePeriodSeconds, now);
  if (isFinished(next, now)) {
    return { do: 'state', changes: [{ type: 'remove', key }], durable: true };
  }
  if (next === found.object) return { do: 'nothing' };
  return { do: 'state', changes: [{ type: 'put', key, object: next, hidden }], durable: true };
}

/** The object after the deletion; for dry runs. `gone`: it is removed at once. */
export function afterDeletion(
  prepared: Prepared,
  object: KubeObject,
  now: number,
): { readonly object: KubeObject; readonly gone: boolean } {
  if (prepared.do === 'nothing') return { object, gone: false };
  if (prepared.do === 'state') {
    const put = prepared.changes.find((change) => change.type === 'put');
    return put === undefined ? { object, gone: true } : { object: put.object, gone: false };
  }
  const { deletion } = prepared;
  if (deletion === undefined) return { object, gone: true };
  const { gracePeriodSeconds, finalizers } = deletion;
  const held = withFinalizers(object, finalizers);
  return { object: terminating(held, gracePeriodSeconds, now), gone: false };
}

/**
 * Each deletion sets the finalizers of the garbage collector from its propagation policy. Orphaning
 * needs no finalizer: dependents are released before the owner is removed.
 */
function finalizersFor(
  policy: PropagationPolicy | undefined,
  { metadata }: KubeObject,
): readonly string[] {
  const given = metadata.finalizers ?? [];
  if (policy === undefined) return given;
  const others = given.filter(
    (name) => name !== FOREGROUND && (name !== ORPHAN || policy === 'Orphan'),
  );
  return policy === 'Foreground' ? [...others, FOREGROUND] : others;
}

/** As in Kubernetes: a negative period means one second. */
function gracePeriod(seconds: number | undefined): number {
  if (seconds === undefined) return 0;
  return seconds < 0 ? 1 : seconds;
}
