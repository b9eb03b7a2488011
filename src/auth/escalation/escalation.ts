/**
 * A writer can grant by roles only rights that it holds (Kubernetes: registry/rbac `policybased`).
 * Writing a Role or ClusterRole takes every right in it, or the verb `escalate` on it. A ClusterRole in
 * `spec.clusterRoles` also takes every right in it inside clusters. Writing a binding takes every right of
 * its role, or the verb `bind` on that role.
 */
import {
  forbiddenError,
  isRecord,
  jsonEqual,
  type KubeObject,
  notFound,
  type ResourceName,
  type StatusError,
  SUPERUSER_GROUP,
  type User,
} from '../../apimachinery/index.ts';
import { RBAC_GROUP } from '../../kinds/index.ts';
import type { RuleSource } from '../rbac/authorizer.ts';
import { roleKey } from '../rbac/binding-index.ts';
import { FULL_AUTHORITY } from '../rbac/built-in-rights.ts';
import { type PolicyRule, policyRules } from '../rbac/policy-rules.ts';
import { covers, uncoveredRules } from '../rbac/rule-coverage.ts';

export interface Write {
  readonly user: User;
  readonly object: KubeObject;
  /** Version that the write replaces; undefined for a create. */
  readonly old?: KubeObject | undefined;
}

type Check = (rights: RuleSource, write: Write) => StatusError | undefined;

/** The check of each kind that grants rights. */
const CHECKS: Readonly<Record<string, Check>> = {
  Role: (rights, write) => roleProblem(rights, write, 'roles'),
  ClusterRole: (rights, write) => roleProblem(rights, write, 'clusterroles'),
  RoleBinding: (rights, write) => bindingProblem(rights, write, 'rolebindings'),
  ClusterRoleBinding: (rights, write) => bindingProblem(rights, write, 'clusterrolebindings'),
};

const MESSAGE_LINES = 50;
const LINE_LENGTH = 1000;

/** Refusal of a write of an RBAC object; undefined: it is allowed, or of another kind. */
export function escalationProblem(rights: RuleSource, write: Write): StatusError | undefined {
  const { user, object, old } = write;
  if (!object.apiVersion.startsWith(`${RBAC_GROUP}/`)) return undefined;
  if (isSuperuser(user)) return undefined;
  if (old !== undefined && jsonEqual(desired(object), desired(old))) return undefined;
  return CHECKS[object.kind]?.(rights, write);
}

/** A scope limits even a superuser. */
export function isSuperuser({ groups, scope }: User): boolean {
  return scope === undefined && groups.includes(SUPERUSER_GROUP);
}

/**
 * The fields whose change takes rights: garbage collection, which changes only owners and finalizers,
 * takes none. Labels count, because aggregated roles select by them.
 */
function desired({ metadata, status, ...fields }: KubeObject): unknown {
  const { name, namespace, labels, annotations } = metadata;
  return { ...fields, labels: labels ?? {}, annotations: annotations ?? {}, name, namespace };
}

function roleProblem(
  rights: RuleSource,
  { user, object, old }: Write,
  plural: string,
): StatusError | undefined {
  const { name = '', namespace = '' } = object.metadata;
  const role = { group: RBAC_GROUP, resource: plural, namespace, name };
  if (rights.authorize(user, { verb: 'escalate', ...role }).allowed) return undefined;
  const owned = rights.rulesFor(user, namespace);
  const rules = policyRules(object['rules']);
  const missing = uncoveredRules(owned, rules);
  // Rights on the platform do not count inside clusters, where the role applies as well.
  const isInClusters = namespace === '' && rights.isAssignedInClusters(object);
  if (isInClusters)
    for (const rule of uncoveredRules(rights.rulesInClusters(user), rules)) missing.push(rule);
  if (missing.length > 0) {
    return forbiddenError(
      refusal(object, plural, describeMissing(user, missing)),
      about(plural),
      name,
    );
  }
  const gathers = isAggregated(object) || isAggregated(old);
  if (!gathers || covers(owned, FULL_AUTHORITY)) return undefined;
  const why = 'must have cluster-admin privileges to use the aggregationRule';
  return forbiddenError(refusal(object, plural, why), about(plural), name);
}

function bindingProblem(
  rights: RuleSource,
  { user, object }: Write,
  plural: string,
): StatusError | undefined {
  const { name = '', namespace = '' } = object.metadata;
  const ref = isRecord(object['roleRef']) ? object['roleRef'] : {};
  const role = roleKey(String(ref['kind']), String(ref['name']), namespace);
  const resource = role?.namespace === '' ? 'clusterroles' : 'roles';
  const roleName = String(ref['name']);
  if (role !== undefined) {
    // `bind` is checked in the namespace of the binding, also for a ClusterRole.
    const bound = { group: RBAC_GROUP, resource, namespace, name: roleName };
    if (rights.authorize(user, { verb: 'bind', ...bound }).allowed) return undefined;
  }
  const rules = role === undefined ? undefined : rights.roleRules(role);
  if (rules === undefined) return notFound(about(resource), roleName);
  const missing = uncoveredRules(rights.rulesFor(user, namespace), rules);
  if (missing.length === 0) return undefined;
  return forbiddenError(
    refusal(object, plural, describeMissing(user, missing)),
    about(plural),
    name,
  );
}

function isAggregated(role: KubeObject | undefined): boolean {
  const rule = role?.['aggregationRule'];
  const selectors = isRecord(rule) ? rule['clusterRoleSelectors'] : undefined;
  return Array.isArray(selectors) && selectors.length > 0;
}

function about(plural: string): ResourceName {
  return { group: RBAC_GROUP, plural, kind: '' };
}

function refusal(object: KubeObject, plural: string, why: string): string {
  return `${plural}.${RBAC_GROUP} ${JSON.stringify(object.metadata.name)} is forbidden: ${why}`;
}

/** Message of Kubernetes about rights that a write would grant and its writer does not hold. */
export function describeMissing(user: User, missing: readonly PolicyRule[]): string {
  const lines = [...new Set(missing.map(describeRule))].sort();
  if (lines.length > MESSAGE_LINES) {
    lines.splice(
      MESSAGE_LINES,
      Number.POSITIVE_INFINITY,
      `… and ${lines.length - MESSAGE_LINES} more`,
    );
  }
  const who = `user ${JSON.stringify(user.name)} (groups=${list(user.groups)})${within(user)}`;
  const what = 'is attempting to grant RBAC permissions not currently held';
  return `${who} ${what}:\n${lines.join('\n')}`;
}

function within({ scope, accessKey }: User): string {
  return scope === undefined
    ? ''
    : `, within the scope of access key ${JSON.stringify(accessKey)},`;
}

/** `{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}`, as Kubernetes prints a rule. */
function describeRule(rule: PolicyRule): string {
  const fields: [string, readonly string[]][] = [
    ['APIGroups', rule.apiGroups],
    ['Resources', rule.resources],
    ['NonResourceURLs', rule.nonResourceURLs],
    ['ResourceNames', rule.resourceNames],
    ['Verbs', rule.verbs],
  ];
  const shown = fields.filter(([, values]) => values.length > 0);
  const text = `{${shown.map(([field, values]) => `${field}:${list(values)}`).join(', ')}}`;
  return text.length > LINE_LENGTH ? `${text.slice(0, LINE_LENGTH)}…` : text;
}

function list(values: readonly string[]): string {
  return `[${values.map((value) => JSON.stringify(value)).join(' ')}]`;
}
