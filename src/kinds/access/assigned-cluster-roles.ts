/**
 * `spec.clusterRoles` of teams and users (spec section 2.4): their cluster roles in clusters. Each
 * entry becomes a ClusterRoleBinding. The authorizer reads it for clusters of this daemon; the tenant
 * sync writes it to other clusters.
 */
import {
  type FieldError,
  type FieldPath,
  invalid,
  type KubeObject,
  listAt,
  pathSegmentProblems,
  required,
} from '../../apimachinery/index.ts';
import { type Dependency, type Kind, RBAC_GROUP } from '../kind.ts';
import { subjectsOf } from '../rbac/binding-rules.ts';

const ROLES: FieldPath = ['spec', 'clusterRoles'];

function entriesOf(object: KubeObject): readonly { readonly name?: string }[] {
  return listAt<{ readonly name?: string }>(object, ROLES);
}

export function assignedClusterRoles(object: KubeObject): string[] {
  return entriesOf(object).flatMap(({ name }) => (name === undefined ? [] : [name]));
}

/** Each entry needs a valid role name. */
export function clusterRoleProblems(object: KubeObject): FieldError[] {
  return entriesOf(object).flatMap(({ name }, index) => {
    const path = [...ROLES, index, 'name'];
    if (name === undefined || name === '') return [required(path)];
    return pathSegmentProblems(name).map((problem) => invalid(path, name, problem));
  });
}

export function clusterRoleDependencies(object: KubeObject): Dependency[] {
  return assignedClusterRoles(object).map((name) => ({
    path: ['spec', 'clusterRoles'],
    group: RBAC_GROUP,
    plural: 'clusterroles',
    name,
    effect: 'it grants nothing in the clusters that are served here until there is one',
  }));
}

const ASSIGNMENT_PREFIX = 'gitplane:clusterrole:';

/**
 * The bindings of a team or user, one per role. The subject is a group that only the platform can
 * give to an identity. An object that is being deleted has no bindings.
 */
export function roleAssignments(
  kind: Pick<Kind, 'singular' | 'assignedRoles'>,
  object: KubeObject,
): KubeObject[] {
  const { name = '', deletionTimestamp } = object.metadata;
  if (deletionTimestamp !== undefined) return [];
  const subject = {
    kind: 'Group',
    apiGroup: RBAC_GROUP,
    name: `gitplane:${kind.singular}:${name}`,
  };
  return [...new Set(kind.assignedRoles(object))].map((role) => ({
    apiVersion: `${RBAC_GROUP}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: `${ASSIGNMENT_PREFIX}${kind.singular}:${name}:${role}` },
    roleRef: { apiGroup: RBAC_GROUP, kind: 'ClusterRole', name: role },
    subjects: [subject],
  }));
}

/** The bindings for a cluster that adds a prefix to groups of a token (`--oidc-groups-prefix`). */
export function underGroupsPrefix(bindings: readonly KubeObject[], prefix: string): KubeObject[] {
  return bindings.map((binding) => ({
    ...binding,
    subjects: subjectsOf(binding).map((subject) => ({ ...subject, name: prefix + subject.name })),
  }));
}
