/** Objects and attributes for the tests of this folder, with only the fields that matter there. */
import type { JsonObject, KubeObject } from '../../src/apimachinery/object.ts';
import type { PathAttributes, ResourceAttributes, User } from '../../src/apimachinery/request.ts';
import type { PolicyRule } from '../../src/auth/rbac/policy-rules.ts';

export const GROUP = 'management.gitplane.dev';
const RBAC = 'rbac.authorization.k8s.io/v1';

export type RuleInput = Partial<PolicyRule>;

export function rule(input: RuleInput): PolicyRule {
  return {
    verbs: [],
    apiGroups: [],
    resources: [],
    resourceNames: [],
    nonResourceURLs: [],
    ...input,
  };
}

export function role(namespace: string, name: string, rules: readonly RuleInput[]): KubeObject {
  return {
    apiVersion: RBAC,
    kind: 'Role',
    metadata: { namespace, name },
    rules: JSON.parse(JSON.stringify(rules)),
  };
}

export function clusterRole(
  name: string,
  rules: readonly RuleInput[],
  labels: Record<string, string> = {},
): KubeObject {
  return {
    apiVersion: RBAC,
    kind: 'ClusterRole',
    metadata: { name, labels },
    rules: JSON.parse(JSON.stringify(rules)),
  };
}

export function aggregatedRole(
  name: string,
  selectors: readonly JsonObject[],
  labels: Record<string, string> = {},
): KubeObject {
  return {
    ...clusterRole(name, [], labels),
    aggregationRule: { clusterRoleSelectors: [...selectors] },
  };
}

/** `User:ann`, `Group:ops`, `ServiceAccount:robot`. */
function subject(text: string): Record<string, string> {
  const [kind = '', ...rest] = text.split(':');
  return { kind, name: rest.join(':'), apiGroup: 'rbac.authorization.k8s.io' };
}

function roleRef(text: string): Record<string, string> {
  const [kind = '', name = ''] = text.split(':');
  return { kind, name, apiGroup: 'rbac.authorization.k8s.io' };
}

/** `ref` is `ClusterRole:x` or `Role:x`. */
export function binding(
  namespace: string,
  name: string,
  ref: string,
  ...subjects: string[]
): KubeObject {
  return {
    apiVersion: RBAC,
    kind: 'RoleBinding',
    metadata: { namespace, name },
    roleRef: roleRef(ref),
    subjects: subjects.map(subject),
  };
}

export function clusterBinding(name: string, ref: string, ...subjects: string[]): KubeObject {
  return {
    apiVersion: RBAC,
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: roleRef(ref),
    subjects: subjects.map(subject),
  };
}

export function someone(name: string, ...groups: string[]): User {
  return { name, groups };
}

/** `get teams`, `get teams/status x`, with the namespace apart. */
export function request(text: string, namespace = '', group = GROUP): ResourceAttributes {
  const [verb = '', what = '', name = ''] = text.split(' ');
  const [resource = '', subresource = ''] = what.split('/');
  return { verb, group, resource, namespace, name, ...(subresource === '' ? {} : { subresource }) };
}

export function path(verb: string, url: string): PathAttributes {
  return { verb, path: url };
}
