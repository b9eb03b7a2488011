/** A tenant with the name of a former one takes the right to list in every cluster of a tenant. */
import { type Authorizer, forbiddenError } from '../../apimachinery/index.ts';
import { CLUSTER_SUBRESOURCE } from '../../auth/index.ts';
import type { Guard } from '../../registry/index.ts';

/** Clusters of tenants that were removed: they stay, and a tenant of the same name gets them. */
export interface FormerClusters {
  /** True if clients have objects in the cluster of a tenant of that name. */
  hasObjects(tenant: string): boolean;
}

/**
 * The sync of the new tenant reads these objects, and its file says where they are written. Rights on one name do
 * not count: they may be meant for the new tenant.
 */
export function formerClusterGuard(
  authorizer: Authorizer,
  clusters: () => FormerClusters | undefined,
): Guard {
  return ({ user, kind, object, old }) => {
    const { name = '' } = object?.metadata ?? {};
    if (object === undefined || old !== undefined || kind.storedIn !== 'file') return undefined;
    if (clusters()?.hasObjects(name) !== true) return undefined;
    const { group, plural: resource } = kind;
    const right = { verb: 'list', group, resource, subresource: CLUSTER_SUBRESOURCE };
    if (authorizer.authorize(user, { ...right, namespace: '', name: '' }).allowed) return undefined;
    const message = `${resource}.${group} ${JSON.stringify(name)} is forbidden: the cluster of a former tenant of that name has objects, and User ${JSON.stringify(user.name)} cannot list ${resource}/${CLUSTER_SUBRESOURCE} of every name`;
    return forbiddenError(message, kind, name);
  };
}
