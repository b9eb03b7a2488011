/**
 * A writer can grant by owner and access rules only rights that it holds. As for roles (`escalation.ts`),
 * every right that a write grants on an object must be held on it. In addition, handing ownership to
 * others takes `makeowner`, and naming a team of others takes `bind`.
 */
import {
  forbiddenError,
  type KubeObject,
  type StatusError,
  type User,
} from '../../apimachinery/index.ts';
import {
  type AccessGrant,
  accessGrants,
  type Kind,
  ownerGrant,
  ownerOf,
} from '../../kinds/index.ts';
import { teamGroup } from '../identity/reserved-names.ts';
import type { RuleSource } from '../rbac/authorizer.ts';
import type { PolicyRule } from '../rbac/policy-rules.ts';
import { uncoveredRules } from '../rbac/rule-coverage.ts';
import { narrowRules } from '../rbac/scoped-authorizer.ts';
import { describeMissing, isSuperuser } from './escalation.ts';
import { teamNotToBind, teamsInAccess } from './team-binding.ts';

export interface AccessWrite {
  readonly user: User;
  readonly kind: Kind;
  readonly object: KubeObject;
  /** Version that the write replaces; undefined for a create. */
  readonly old: KubeObject | undefined;
}

/** Reason why a write may not set this owner or these access rules; undefined: it may. */
export function delegationProblem(rights: RuleSource, write: AccessWrite): StatusError | undefined {
  const { user, kind, object } = write;
  if (!kind.hasAccessRules || isSuperuser(user)) return undefined;
  const why =
    notHeldProblem(rights, write) ?? ownershipProblem(rights, write) ?? teamProblem(rights, write);
  if (why === undefined) return undefined;
  const name = object.metadata.name ?? '';
  const what = `${kind.plural}.${kind.group} ${JSON.stringify(name)} is forbidden: ${why}`;
  return forbiddenError(what, kind, name);
}

function notHeldProblem(rights: RuleSource, write: AccessWrite): string | undefined {
  const { user, kind, object, old } = write;
  // A writer with all rights holds every grant; this check is cheaper than computing the grants.
  if (rights.rulesFor(user, object.metadata.namespace ?? '').some(isEverything)) return undefined;
  const granted = old === undefined ? [] : accessGrants(kind, old);
  const before = new Set(granted.map(({ content }) => content));
  const namespace = object.metadata.namespace ?? '';
  // The owner of a new object holds the rights on it at once, but grants others only the rights that
  // the scope of the key permits.
  const mine = old === undefined && isOwner(user, object) ? ownerGrant(kind, object) : undefined;
  const added = accessGrants(kind, object).filter(
    ({ content }) => content !== mine?.content && !before.has(content),
  );
  const wanted = added.map(toPolicyRule);
  // Removing the owner takes the rights of the owner, too.
  if (old !== undefined && isTakenAway(old, object))
    for (const right of fullRights(kind, old)) wanted.push(right);
  if (wanted.length === 0) return undefined;
  const { name = '' } = object.metadata;
  const about = { group: kind.group, resource: kind.plural, namespace, name };
  const held = rights.rulesFor(user, namespace, about);
  if (mine !== undefined)
    for (const rule of narrowRules(user, [toPolicyRule(mine)], namespace)) held.push(rule);
  const missing = uncoveredRules(held, wanted);
  return missing.length === 0 ? undefined : describeMissing(user, missing);
}

function isEverything({ verbs, apiGroups, resources, resourceNames }: PolicyRule): boolean {
  const all = [verbs, apiGroups, resources].every((names) => names.includes('*'));
  return all && resourceNames.length === 0;
}

function isTakenAway(old: KubeObject, object: KubeObject): boolean {
  const [was, is] = [ownerOf(old), ownerOf(object)];
  const lost = (before?: string, now?: string): boolean => before !== undefined && before !== now;
  return lost(was.user, is.user) || lost(was.team, is.team);
}

function ownershipProblem(
  rights: RuleSource,
  { user, kind, object, old }: AccessWrite,
): string | undefined {
  const was = old === undefined ? {} : ownerOf(old);
  const { user: ownerUser, team } = ownerOf(object);
  const may = (resource: string, name: string): boolean =>
    rights.authorize(user, { verb: 'makeowner', group: kind.group, resource, namespace: '', name })
      .allowed;
  if (ownerUser !== undefined && ownerUser !== was.user && ownerUser !== user.name) {
    if (!may('users', ownerUser)) return denial(user, 'makeowner', 'users', ownerUser);
  }
  if (team !== undefined && team !== was.team && !user.groups.includes(teamGroup(team))) {
    if (!may('teams', team)) return denial(user, 'makeowner', 'teams', team);
  }
  return undefined;
}

function teamProblem(
  rights: RuleSource,
  { user, kind, object, old }: AccessWrite,
): string | undefined {
  const before = old === undefined ? [] : teamsInAccess(old);
  const teams = { after: teamsInAccess(object), before };
  const refused = teamNotToBind(rights, { user, group: kind.group, ...teams });
  return refused === undefined ? undefined : denial(user, 'bind', 'teams', refused);
}

function isOwner(user: User, object: KubeObject): boolean {
  const owner = ownerOf(object);
  if (owner.user !== undefined && owner.user === user.name) return true;
  return owner.team !== undefined && user.groups.includes(teamGroup(owner.team));
}

function fullRights(kind: Kind, object: KubeObject): PolicyRule[] {
  const grant = ownerGrant(kind, object);
  return grant === undefined ? [] : [toPolicyRule(grant)];
}

function toPolicyRule({ rule }: AccessGrant): PolicyRule {
  return { ...rule, nonResourceURLs: [] };
}

function denial(user: User, verb: string, resource: string, name: string): string {
  return `User ${JSON.stringify(user.name)} cannot ${verb} ${resource} ${JSON.stringify(name)}`;
}
