/**
 * Right to assign cluster roles to teams and users (spec section 2.4): the verb `bind` on the role.
 * Holding the rights of the role does not suffice, because another cluster may have a different role
 * of that name. A team also takes `bind` on the team, as every role binding to a team does.
 */
import { forbiddenError } from '../../apimachinery/index.ts';
import { isSuperuser, type RuleSource, teamNotToBind } from '../../auth/index.ts';
import { RBAC_GROUP } from '../../kinds/index.ts';
import type { Guard } from '../../registry/index.ts';

export function clusterRolesGuard(rights: RuleSource, group: string): Guard {
  return ({ user, kind, object, old }) => {
    if (object === undefined || isSuperuser(user)) return undefined;
    const before = new Set(old === undefined ? [] : kind.assignedRoles(old));
    const added = kind.assignedRoles(object).filter((role) => !before.has(role));
    if (added.length === 0) return undefined;
    const { name = '' } = object.metadata;
    const refused = added.find((role) => !mayBind(role));
    const toTeam = { user, group, after: kind.plural === 'teams' ? [name] : [], before: [] };
    const team = teamNotToBind(rights, toTeam);
    if (refused === undefined && team === undefined) return undefined;
    const denied = refused === undefined ? ['teams', team] : ['clusterroles', refused];
    const why = `User ${JSON.stringify(user.name)} cannot bind ${denied[0]} ${JSON.stringify(denied[1])}`;
    const resource = `${kind.plural}.${kind.group} ${JSON.stringify(name)}`;
    return forbiddenError(`${resource} is forbidden: ${why}`, kind, name);

    function mayBind(role: string): boolean {
      const resource = { group: RBAC_GROUP, resource: 'clusterroles', namespace: '', name: role };
      return rights.authorize(user, { verb: 'bind', ...resource }).allowed;
    }
  };
}
