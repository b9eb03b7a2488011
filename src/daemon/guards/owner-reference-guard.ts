/**
 * An object goes with its owners, so a change of its owner references takes the right to delete it.
 * `blockOwnerDeletion` delays the deletion of the owner, so it takes the right to delete the owner.
 */
import {
  type Authorizer,
  describeKey,
  forbiddenError,
  forbidden as forbiddenField,
  invalidObject,
  jsonEqual,
  type KubeObject,
  type OwnerReference,
} from '../../apimachinery/index.ts';
import type { Kind, KindTable } from '../../kinds/index.ts';
import type { Guard } from '../../registry/index.ts';

/** 422 for blocking references, where Kubernetes says 403: spec section 7 rules. */
export function ownerReferenceGuard(kinds: KindTable, authorizer: Authorizer): Guard {
  return ({ user, kind, object, old }) => {
    const namespace = object?.metadata.namespace ?? '';
    const name = object?.metadata.name ?? '';
    const mayDelete = (one: Kind, of: string): boolean => {
      const { group, plural: resource, scope } = one;
      const at = { group, resource, namespace: scope === 'Namespaced' ? namespace : '', name: of };
      return authorizer.authorize(user, { verb: 'delete', ...at }).allowed;
    };
    const mayDeleteOwner = (reference: OwnerReference): boolean => {
      const owner = kinds.byKind(reference.apiVersion, reference.kind);
      return owner !== undefined && mayDelete(owner, reference.name);
    };
    const before = new Set(blocking(old?.metadata.ownerReferences).map(({ uid }) => uid));
    const errors = blocking(object?.metadata.ownerReferences)
      .filter((reference) => !before.has(reference.uid) && !mayDeleteOwner(reference))
      .map((reference) =>
        forbiddenField(
          ['metadata', 'ownerReferences'],
          `cannot set blockOwnerDeletion: user ${JSON.stringify(user.name)} may not delete ${reference.kind} ${JSON.stringify(reference.name)}`,
        ),
      );
    if (errors.length > 0) return invalidObject(kind, name, errors);
    if (!changesOwners(old, object) || mayDelete(kind, name)) return undefined;
    const key = { group: kind.group, kind: kind.kind, namespace, name };
    const message = `cannot change ownerReferences, which delete an object with its owners: user ${JSON.stringify(user.name)} may not delete ${describeKey(key)}`;
    return forbiddenError(message, kind, name);
  };
}

/** An object without references is deleted with nobody, and a new one is its creator's. */
function changesOwners(old: KubeObject | undefined, object: KubeObject | undefined): boolean {
  const { ownerReferences: after = [] } = object?.metadata ?? {};
  return old !== undefined && after.length > 0 && !jsonEqual(old.metadata.ownerReferences, after);
}

function blocking(references: readonly OwnerReference[] | undefined): OwnerReference[] {
  return (references ?? []).filter((reference) => reference.blockOwnerDeletion === true);
}
