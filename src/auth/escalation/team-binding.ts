/**
 * Granting a role or an access rule to a team takes the verb `bind` on the team (spec section 2.4),
 * except for its members. A team is named by its group; keys of a team act as a user of the same name.
 */
import { jsonEqual, type KubeObject, type User } from '../../apimachinery/index.ts';
import { accessRulesOf, subjectsOf } from '../../kinds/index.ts';
import { TEAM_GROUP, teamGroup } from '../identity/reserved-names.ts';
import type { RuleSource } from '../rbac/authorizer.ts';

export interface TeamBinding {
  readonly user: User;
  /** Name of the management API group. */
  readonly group: string;
  readonly after: readonly string[];
  readonly before: readonly string[];
}

/** First added team that the user may not bind to. */
export function teamNotToBind(
  rights: RuleSource,
  { user, group, after, before }: TeamBinding,
): string | undefined {
  const added = after.filter((team) => !before.includes(team));
  const others = added.filter((team) => !user.groups.includes(teamGroup(team)));
  const attributes = { verb: 'bind', group, resource: 'teams', namespace: '' };
  return others.find((name) => !rights.authorize(user, { ...attributes, name }).allowed);
}

/** Teams that access rules name. */
export function teamsInAccess(object: KubeObject): string[] {
  return accessRulesOf(object).flatMap(({ teams = [], users = [] }) => [
    ...teams.filter((team) => team !== '*'),
    ...teamsAmong(users),
  ]);
}

/** Teams in a binding, and those that it already named with the same role. */
export function teamsInBinding(
  object: KubeObject,
  old: KubeObject | undefined,
): Pick<TeamBinding, 'after' | 'before'> {
  const [after, before] = [object, old].map((version) =>
    version === undefined ? [] : teamsAmong(subjectsOf(version).map(({ name }) => name)),
  );
  const hasSameRole = old !== undefined && jsonEqual(object['roleRef'], old['roleRef']);
  return { after: after ?? [], before: hasSameRole ? (before ?? []) : [] };
}

function teamsAmong(names: readonly string[]): string[] {
  return names
    .filter((name) => name.startsWith(TEAM_GROUP))
    .map((name) => name.slice(TEAM_GROUP.length));
}
