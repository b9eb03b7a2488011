/** State of the owners of an object (reference: Kubernetes API, section 2.13). */
import type { KubeObject, ObjectKey, OwnerReference } from '../../apimachinery/index.ts';
import type { KindTable } from '../../kinds/index.ts';
import { FOREGROUND } from '../../registry/index.ts';

export interface References {
  /** References to owners that exist, or whose existence is unknown. */
  readonly solid: readonly OwnerReference[];
  /** References to missing owners. */
  readonly dangling: readonly OwnerReference[];
  /** References to owners that wait for the deletion of this object. */
  readonly waiting: readonly OwnerReference[];
}

export interface OwnerLookup {
  readonly kinds: KindTable;
  get(key: ObjectKey): KubeObject | undefined;
}

/**
 * Key of the owner. Undefined if it cannot be determined: kinds that another server serves, and
 * namespaced owners of a cluster-scoped object. Such an owner never counts as missing, so the
 * object is never collected because of it.
 */
export function ownerKeyOf(
  kinds: KindTable,
  reference: OwnerReference,
  dependent: ObjectKey,
): ObjectKey | undefined {
  const kind = kinds.byKind(reference.apiVersion, reference.kind);
  if (kind === undefined || kind.storedIn === 'nowhere') return undefined;
  const namespace = kind.scope === 'Namespaced' ? dependent.namespace : '';
  if (kind.scope === 'Namespaced' && namespace === '') return undefined;
  return { group: kind.group, kind: kind.kind, namespace, name: reference.name };
}

/** The owner with the uid of the reference; the same name with another uid is another object. */
export function ownerOf(
  lookup: OwnerLookup,
  reference: OwnerReference,
  dependent: ObjectKey,
): KubeObject | undefined {
  const key = ownerKeyOf(lookup.kinds, reference, dependent);
  const found = key && lookup.get(key);
  return found?.metadata.uid === reference.uid ? found : undefined;
}

export function referencesOf(lookup: OwnerLookup, object: KubeObject, key: ObjectKey): References {
  const solid: OwnerReference[] = [];
  const dangling: OwnerReference[] = [];
  const waiting: OwnerReference[] = [];
  for (const reference of object.metadata.ownerReferences ?? []) {
    const known = ownerKeyOf(lookup.kinds, reference, key) !== undefined;
    const owner = ownerOf(lookup, reference, key);
    if (owner !== undefined && isWaiting(owner) && reference.blockOwnerDeletion === true) {
      waiting.push(reference);
    } else if (owner !== undefined || !known) solid.push(reference);
    else dangling.push(reference);
  }
  return { solid, dangling, waiting };
}

/** True if an object is terminating and waits for its dependents. */
export function isWaiting({ metadata }: KubeObject): boolean {
  const { deletionTimestamp, finalizers = [] } = metadata;
  return deletionTimestamp !== undefined && finalizers.includes(FOREGROUND);
}
