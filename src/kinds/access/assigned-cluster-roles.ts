/**
 * `spec.clusterRoles` of teams and users (spec section 2.4): cluster roles that their holders have
 * in clusters. Each entry is a ClusterRoleBinding: in clusters that are served here the authorizer
 * reads it, in clusters elsewhere the tenant loop writes it.
 */
import {
  type FieldError,
  type FieldPath,
  invalid,
  type KubeObject,
  pathSegmentProblems,
  required,
  valueAt,
} from '../../apimachinery/index.ts';
import { type Dependency, type Kind, RBAC_GROUP } from '../kind.ts';
import { subjectsOf } from '../rbac/binding-rules.ts';

const ROLES: FieldPath = ['spec', 'clusterRoles'];

function entriesOf(object: KubeObject): readonly { readonly name?: string }[] {
  return (valueAt(object, ROLES) ?? []) as readonly { readonly name?: string }[];
}

export function assignedClusterRoles(object: KubeObject): string[] {
  return entriesOf(object).flatMap(({ name }) => (name === undefined ? [] : [name]));
}

/** Each entry names a role, by a name that a role can have. */
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

/** Beginning of the names of the bindings. */
const ASSIGNMENT_PREFIX = 'gitplane:clusterrole:';

/**
 * The bindings that a team or user stands for, one for each role. The subject is the group that the
 * platform alone gives to members of the team, or to the user. An object that is being deleted has
 * none.
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

/** Bindings for a cluster that puts a text before the groups of a token (`--oidc-groups-prefix`). */
export function underGroupsPrefix(bindings: readonly KubeObject[], prefix: string): KubeObject[] {
  return bindings.map((binding) => ({
    ...binding,
    subjects: subjectsOf(binding).map((subject) => ({ ...subject, name: prefix + subject.name })),
  }));
}
