/** `blockOwnerDeletion` delays the deletion of the owner, so it takes the right to delete the owner. */
import {
  type Authorizer,
  forbidden as forbiddenField,
  invalidObject,
  type OwnerReference,
} from '../../apimachinery/index.ts';
import type { KindTable } from '../../kinds/index.ts';
import type { Guard } from '../../registry/index.ts';

/** 422 where Kubernetes says 403: spec section 7 rules. */
export function ownerReferenceGuard(kinds: KindTable, authorizer: Authorizer): Guard {
  return ({ user, kind, object, old }) => {
    const before = new Set(blocking(old?.metadata.ownerReferences).map(({ uid }) => uid));
    const added = blocking(object?.metadata.ownerReferences).filter(({ uid }) => !before.has(uid));
    const errors = added
      .filter((reference) => !mayDelete(reference, object?.metadata.namespace ?? ''))
      .map((reference) =>
        forbiddenField(
          ['metadata', 'ownerReferences'],
          `cannot set blockOwnerDeletion: user ${JSON.stringify(user.name)} may not delete ${reference.kind} ${JSON.stringify(reference.name)}`,
        ),
      );
    return errors.length === 0
      ? undefined
      : invalidObject(kind, object?.metadata.name ?? '', errors);

    function mayDelete(reference: OwnerReference, namespace: string): boolean {
      const owner = kinds.byKind(reference.apiVersion, reference.kind);
      if (owner === undefined) return false;
      const attributes = {
        verb: 'delete',
        group: owner.group,
        resource: owner.plural,
        namespace: owner.scope === 'Namespaced' ? namespace : '',
        name: reference.name,
      };
      return authorizer.authorize(user, attributes).allowed;
    }
  };
}

function blocking(references: readonly OwnerReference[] | undefined): OwnerReference[] {
  return (references ?? []).filter((reference) => reference.blockOwnerDeletion === true);
}
