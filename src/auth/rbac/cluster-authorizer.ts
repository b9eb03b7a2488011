/**
 * Rights at the API root of a served cluster. Roles grant them on the cluster as a whole, by name and
 * verb: `tenants/cluster` for a tenant cluster, `clusters/cluster` for a control plane. Roles of
 * `spec.clusterRoles` grant them inside every cluster, with namespace and name of the request. They never
 * follow from rights in namespaces of the platform, which may have the same names. A scope must permit
 * the cluster itself.
 */
import type { Attributes, Authorizer, Decision, User } from '../../apimachinery/index.ts';
import type { Target } from '../scope/permits.ts';
import { scopeOf } from '../scope/scope.ts';
import { anyOrAll, anyResourceCovers } from './policy-rules.ts';
import type { ScopedAuthorizer } from './scoped-authorizer.ts';

/** Subresource in the rules of roles: `resources: [tenants/cluster]`. */
export const CLUSTER_SUBRESOURCE = 'cluster';

export interface ClusterApiRoot {
  /** Resource in the rules of roles: `tenants` or `clusters` of the management group, and its name. */
  readonly group: string;
  readonly resource: string;
  readonly name: string;
  /** Target of the cluster in scopes; read at each request. */
  target(): Target;
}

export type ClusterRights = Pick<
  ScopedAuthorizer,
  'authorize' | 'authorizeInClusters' | 'rulesFor' | 'rulesInClusters'
>;

/** True if a user may do nothing in a cluster, so that the user must not learn that it exists. */
export function isOutOfReach(rights: ClusterRights, user: User, root: ClusterApiRoot): boolean {
  const { scope: _narrowed, ...holder } = user;
  const scope = scopeOf(user);
  if (scope !== undefined && !scope.reaches(root.target())) return true;
  const resource = `${root.resource}/${CLUSTER_SUBRESOURCE}`;
  const reaches = rights
    .rulesFor(holder, '')
    .some(
      ({ apiGroups, resources, resourceNames }) =>
        anyOrAll(apiGroups, root.group) &&
        anyResourceCovers(resources, resource) &&
        (resourceNames.length === 0 || resourceNames.includes(root.name)),
    );
  return !reaches && rights.rulesInClusters(holder).length === 0;
}

export function clusterAuthorizer(rights: ClusterRights, root: ClusterApiRoot): Authorizer {
  return {
    authorize: (user: User, attributes: Attributes): Decision => {
      const { scope: _narrowed, ...holder } = user;
      const decision = decide(rights, holder, { root, attributes });
      const scope = scopeOf(user);
      if (!decision.allowed || scope === undefined) return decision;
      const target = root.target();
      // Discovery is for every key that may do anything in the cluster.
      const isDocument = 'path' in attributes && scope.reaches(target);
      if (isDocument || scope.allows(attributes, target)) return decision;
      const reason = `the scope of the access key does not reach ${root.resource} ${JSON.stringify(root.name)}`;
      return { allowed: false, reason };
    },
  };
}

function decide(
  rights: ClusterRights,
  holder: User,
  { root, attributes }: { root: ClusterApiRoot; attributes: Attributes },
): Decision {
  const onCluster = rights.authorize(holder, clusterAttributes(root, attributes));
  if (onCluster.allowed) return onCluster;
  const inside = rights.authorizeInClusters(holder, attributes);
  return inside.allowed || onCluster.reason === '' ? inside : onCluster;
}

/** Paths are the discovery documents, which are the same for every cluster. */
function clusterAttributes(
  { group, resource, name }: ClusterApiRoot,
  attributes: Attributes,
): Attributes {
  if ('path' in attributes) return attributes;
  const { verb } = attributes;
  return { verb, group, resource, subresource: CLUSTER_SUBRESOURCE, namespace: '', name };
}
