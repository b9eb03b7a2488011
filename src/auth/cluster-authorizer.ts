/**
 * Rights at the door of a cluster that is served here. Roles give them as rights on the cluster as
 * a whole, by name and verb: `tenants/cluster` for a tenant cluster, `clusters/cluster` for a
 * control-plane cluster. Roles of `spec.clusterRoles` give them inside every cluster, with the
 * namespace and the name that the request has there. They never follow from rights inside the
 * platform's own namespaces, which may have the same names as those of a cluster. A scope is asked
 * about the cluster itself.
 */
import type { Attributes, Authorizer, Decision, User } from '../apimachinery/index.ts';
import { scopeOf } from './scope.ts';
import type { Target } from './scope-permits.ts';
import type { ScopedAuthorizer } from './scoped-authorizer.ts';

/** What stands behind a name in the rules of roles: `resources: [tenants/cluster]`. */
export const CLUSTER_SUBRESOURCE = 'cluster';

export interface ClusterDoor {
  /** Where roles find it: `tenants` or `clusters` of the management group, and its name. */
  readonly group: string;
  readonly resource: string;
  readonly name: string;
  /** What scopes call it; asked at each request. */
  target(): Target;
}

export type ClusterRights = Pick<ScopedAuthorizer, 'authorize' | 'authorizeInClusters'>;

export function clusterAuthorizer(rights: ClusterRights, door: ClusterDoor): Authorizer {
  return {
    authorize: (user: User, attributes: Attributes): Decision => {
      const { scope: _narrowed, ...holder } = user;
      const decision = decide(rights, holder, { door, attributes });
      const scope = scopeOf(user);
      if (!decision.allowed || scope === undefined) return decision;
      const target = door.target();
      // Discovery is for every key that may do anything there.
      const isDocument = 'path' in attributes && scope.reaches(target);
      if (isDocument || scope.allows(attributes, target)) return decision;
      const reason = `the scope of the access key does not reach ${door.resource} ${JSON.stringify(door.name)}`;
      return { allowed: false, reason };
    },
  };
}

function decide(
  rights: ClusterRights,
  holder: User,
  { door, attributes }: { door: ClusterDoor; attributes: Attributes },
): Decision {
  const atDoor = rights.authorize(holder, rightsAt(door, attributes));
  if (atDoor.allowed) return atDoor;
  const inside = rights.authorizeInClusters(holder, attributes);
  return inside.allowed || atDoor.reason === '' ? inside : atDoor;
}

/** Paths are documents, and are the same for every cluster. */
function rightsAt({ group, resource, name }: ClusterDoor, attributes: Attributes): Attributes {
  if ('path' in attributes) return attributes;
  const { verb } = attributes;
  return { verb, group, resource, subresource: CLUSTER_SUBRESOURCE, namespace: '', name };
}
