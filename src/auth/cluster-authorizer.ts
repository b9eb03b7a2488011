/**
 * Rights at the door of a cluster that is served here. Roles give them as rights on the cluster as
 * a whole, by name and verb: `tenants/cluster` for a tenant cluster, `clusters/cluster` for a
 * control-plane cluster. They never follow from rights inside the platform's own namespaces, which
 * may have the same names as those of a cluster. A scope is asked about the cluster itself.
 */
import type { Attributes, Authorizer, Decision, User } from '../apimachinery/request.ts';
import { scopeOf } from './scope.ts';
import type { Target } from './scope-permits.ts';

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

export function clusterAuthorizer(rights: Authorizer, door: ClusterDoor): Authorizer {
  return {
    authorize: (user: User, attributes: Attributes): Decision => {
      const { scope: _narrowed, ...holder } = user;
      const decision = rights.authorize(holder, rightsAt(door, attributes));
      const scope = scopeOf(user);
      if (!decision.allowed || scope === undefined) return decision;
      if ('path' in attributes || scope.allows(attributes, door.target())) return decision;
      const reason = `the scope of the access key does not reach ${door.resource} ${JSON.stringify(door.name)}`;
      return { allowed: false, reason };
    },
  };
}

/** Paths are documents, and are the same for every cluster. */
function rightsAt({ group, resource, name }: ClusterDoor, attributes: Attributes): Attributes {
  if ('path' in attributes) return attributes;
  const { verb } = attributes;
  return { verb, group, resource, subresource: CLUSTER_SUBRESOURCE, namespace: '', name };
}
