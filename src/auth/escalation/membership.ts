/**
 * Adding a member to a group hands out the rights of the group. It takes what a binding of these rights
 * would take (Kubernetes: registry/rbac `policybased`): holding them all, or the verb `bind` on the team,
 * user or group.
 */
import { jsonEqual, type User } from '../../apimachinery/index.ts';
import type { ActingNames, Membership } from '../../kinds/index.ts';
import type { Directory } from '../identity/directory.ts';
import { TEAM_GROUP, teamGroup, USER_GROUP } from '../identity/reserved-names.ts';
import type { RuleSource } from '../rbac/authorizer.ts';
import { uncoveredRules } from '../rbac/rule-coverage.ts';
import { describeMissing, isSuperuser } from './escalation.ts';

export interface MembershipParts {
  readonly rights: RuleSource;
  readonly directory: Directory;
  /** Name of the management API group. */
  readonly group: string;
}

export interface MembershipChange {
  readonly user: User;
  readonly after: readonly Membership[];
  readonly before: readonly Membership[];
}

/** Reason why the change is refused, as a sentence; undefined: it is not. */
export function membershipRefusal(
  parts: MembershipParts,
  { user, after, before }: MembershipChange,
): string | undefined {
  if (isSuperuser(user) || jsonEqual(after, before)) return undefined;
  const added = addedRights(after, before);
  const teams = parts.directory.teamsOf({ name: added.users[0] ?? '', groups: added.groups });
  const groups = [...new Set([...added.groups, ...teams.map(teamGroup)])];
  const missing = [
    ...added.users.map((name) => ({ name, groups: [] })),
    ...groups.map((name) => ({ name: '', groups: [name] })),
  ].flatMap((holder) => (mayBind(parts, user, holder) ? [] : rightsBeyond(parts, user, holder)));
  return missing.length === 0 ? undefined : describeMissing(user, missing);
}

/** Rights that a member gets and did not have from this object before. */
function addedRights(after: readonly Membership[], before: readonly Membership[]): ActingNames {
  const had = new Set(
    before.flatMap((one) =>
      (['users', 'groups'] as const).flatMap((which) =>
        one.rightsOf[which].map((name) => pair(one, which, name)),
      ),
    ),
  );
  const isNew = (one: Membership, which: keyof ActingNames, name: string): boolean =>
    had.size === 0 || !had.has(pair(one, which, name));
  const added = (which: keyof ActingNames): Set<string> =>
    new Set(after.flatMap((one) => one.rightsOf[which].filter((name) => isNew(one, which, name))));
  return { users: [...added('users')], groups: [...added('groups')] };
}

function pair({ member }: Membership, which: keyof ActingNames, name: string): string {
  return JSON.stringify([member, which, name]);
}

/** A user by name, or a nameless member of one group. */
type Holder = User;

function mayBind({ rights, group }: MembershipParts, user: User, holder: Holder): boolean {
  const attributes = { verb: 'bind', namespace: '', ...bindable(holder, group) };
  return rights.authorize(user, attributes).allowed;
}

function bindable(
  { name, groups: [of = ''] }: Holder,
  group: string,
): { group: string; resource: string; name: string } {
  if (name !== '') return { group, resource: 'users', name };
  if (of.startsWith(USER_GROUP)) {
    return { group, resource: 'users', name: of.slice(USER_GROUP.length) };
  }
  if (of.startsWith(TEAM_GROUP)) {
    return { group, resource: 'teams', name: of.slice(TEAM_GROUP.length) };
  }
  return { group: '', resource: 'groups', name: of };
}

/** Rights of the holder that the user lacks, anywhere. */
function rightsBeyond(
  { rights }: MembershipParts,
  user: User,
  holder: Holder,
): ReturnType<typeof uncoveredRules> {
  const byRoles = ['', ...rights.namespacesOf(holder)].flatMap((namespace) =>
    uncoveredRules(rights.rulesFor(user, namespace), rights.rulesFor(holder, namespace)),
  );
  if (byRoles.length > 0) return byRoles;
  const inClusters = uncoveredRules(rights.rulesInClusters(user), rights.rulesInClusters(holder));
  if (inClusters.length > 0) return inClusters;
  for (const object of rights.objectsNaming(holder)) {
    const { namespace } = object;
    const held = rights.rulesFor(user, namespace, object);
    const missing = uncoveredRules(held, rights.rulesFor(holder, namespace, object));
    // One is enough for a refusal; a team may own thousands of objects.
    if (missing.length > 0) return missing;
  }
  return [];
}
