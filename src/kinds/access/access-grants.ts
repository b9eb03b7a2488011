/**
 * Grants of `spec.owner` and `spec.access` in terms of RBAC (spec section 2.3: access rules are
 * transformed into roles and role bindings).
 */
import { createHash } from 'node:crypto';
import { type KubeObject, mapAt } from '../../apimachinery/index.ts';
import { type Kind, RBAC_GROUP } from '../kind.ts';
import { type AccessRule, accessRulesOf } from './access-rules.ts';

/** Name prefix of derived roles and bindings. Clients cannot use it. */
export const GRANT_PREFIX = 'gitplane:access:';

export interface GrantSubject {
  readonly kind: 'User' | 'Group';
  readonly apiGroup: typeof RBAC_GROUP;
  readonly name: string;
}

export interface AccessGrant {
  /** Rule and subjects as text. Two grants with the same content are the same grant. */
  readonly content: string;
  /** Name of the rule, or `owner`. For display only. */
  readonly title: string;
  readonly rule: {
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly resourceNames: readonly string[];
    readonly verbs: readonly string[];
  };
  readonly subjects: readonly GrantSubject[];
}

export interface Owner {
  readonly user?: string;
  readonly team?: string;
}

const ALL = '*';

/** Name of the group of all members of a team. */
export function teamMembers(team: string): string {
  return `gitplane:team:${team}`;
}

export function ownerOf(object: KubeObject): Owner {
  const { user = '', team = '' } = mapAt<Owner>(object, ['spec', 'owner']);
  return { ...(user === '' ? {} : { user }), ...(team === '' ? {} : { team }) };
}

/** Users and groups in the owner and the rules of an object. May hold duplicates. */
export function namesInAccess(object: KubeObject): string[] {
  const { user, team } = ownerOf(object);
  const rules = accessRulesOf(object);
  return [
    ...(user === undefined ? [] : [user]),
    ...(team === undefined ? [] : [teamMembers(team)]),
    ...rules.flatMap(({ users = [] }) => users),
    ...rules.flatMap(({ teams = [] }) => teams.map(teamMembers)),
  ];
}

/** The owner's grant comes first. Rules without subjects or without applicable verbs give no grant. */
export function accessGrants(kind: Kind, object: KubeObject): AccessGrant[] {
  if (!kind.hasAccessRules) return [];
  const grants = [ownerGrant(kind, object), ...ruleGrants(kind, object)];
  const found = new Map<string, AccessGrant>();
  for (const grant of grants) {
    if (grant !== undefined && !found.has(grant.content)) found.set(grant.content, grant);
  }
  return [...found.values()];
}

/**
 * Name of the role and the binding of a grant. The digest is not truncated, because clients and
 * watches identify grants by this name.
 */
export function grantName(kind: Kind, object: string, { content }: AccessGrant): string {
  const digest = createHash('sha256').update(content).digest('hex');
  return `${GRANT_PREFIX}${kind.singular}:${object}:${digest}`;
}

/** Full rights of the owner on the object. */
export function ownerGrant(kind: Kind, object: KubeObject): AccessGrant | undefined {
  const { user, team } = ownerOf(object);
  const rule = {
    verbs: [ALL],
    subresources: [ALL],
    users: user === undefined ? [] : [user],
    teams: team === undefined ? [] : [team],
  };
  return grant(kind, object, { rule, title: 'owner' });
}

export function ruleGrants(kind: Kind, object: KubeObject): (AccessGrant | undefined)[] {
  return accessRulesOf(object).map((rule, index) =>
    grant(kind, object, { rule, title: rule.name ?? `access[${index}]` }),
  );
}

function grant(
  kind: Kind,
  object: KubeObject,
  { rule, title }: { rule: AccessRule; title: string },
): AccessGrant | undefined {
  const { name = '', namespace = '' } = object.metadata;
  const subjects = subjectsOf(rule);
  // The rule is about an existing object, so `create` has no effect.
  const verbs = [...new Set(rule.verbs)].filter((verb) => verb !== 'create');
  if (subjects.length === 0 || verbs.length === 0) return undefined;
  const subresources = [...new Set(rule.subresources ?? [])];
  const policy = {
    apiGroups: [kind.group],
    resources: [kind.plural, ...subresources.map((sub) => `${kind.plural}/${sub}`)],
    resourceNames: [name],
    verbs,
  };
  const content = JSON.stringify([namespace, policy, subjects]);
  return { content, title, rule: policy, subjects };
}

function subjectsOf({ users = [], teams = [] }: AccessRule): GrantSubject[] {
  const everyone = users.includes(ALL) || teams.includes(ALL);
  if (everyone) return [{ kind: 'Group', apiGroup: RBAC_GROUP, name: 'system:authenticated' }];
  return [
    ...[...new Set(users)].map(
      (name): GrantSubject => ({ kind: 'User', apiGroup: RBAC_GROUP, name }),
    ),
    ...[...new Set(teams)].map(
      (name): GrantSubject => ({ kind: 'Group', apiGroup: RBAC_GROUP, name: teamMembers(name) }),
    ),
  ];
}
