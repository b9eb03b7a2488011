/**
 * Who may assign cluster roles to teams and users (spec section 2.4): as for a binding of the role,
 * the verb `bind` on it, or every right in it. A role that is in clusters only takes the verb. A team
 * takes `bind` on the team as well, as every role that is given to it does.
 */
import { forbiddenError } from '../../apimachinery/status-error.ts';
import type { RuleSource } from '../../auth/authorizer.ts';
import { isSuperuser } from '../../auth/escalation.ts';
import { uncoveredRules } from '../../auth/rule-coverage.ts';
import { teamNotToBind } from '../../auth/team-binding.ts';
import { RBAC_GROUP } from '../../kinds/kind.ts';
import type { Guard } from '../../registry/write-context.ts';

export function clusterRolesGuard(rights: RuleSource, group: string): Guard {
  return ({ user, kind, object, old }) => {
    if (object === undefined || isSuperuser(user)) return undefined;
    const before = old === undefined ? [] : kind.assignedRoles(old);
    const added = kind.assignedRoles(object).filter((role) => !before.includes(role));
    if (added.length === 0) return undefined;
    const { name = '' } = object.metadata;
    const refused = added.find((role) => !mayAssign(role));
    const toTeam = { user, group, after: kind.plural === 'teams' ? [name] : [], before: [] };
    const team = teamNotToBind(rights, toTeam);
    if (refused === undefined && team === undefined) return undefined;
    const denied = refused === undefined ? ['teams', team] : ['clusterroles', refused];
    const why = `User ${JSON.stringify(user.name)} cannot bind ${denied[0]} ${JSON.stringify(denied[1])}`;
    const resource = `${kind.plural}.${kind.group} ${JSON.stringify(name)}`;
    return forbiddenError(`${resource} is forbidden: ${why}`, kind, name);

    function mayAssign(role: string): boolean {
      const resource = { group: RBAC_GROUP, resource: 'clusterroles', namespace: '', name: role };
      if (rights.authorize(user, { verb: 'bind', ...resource }).allowed) return true;
      const rules = rights.roleRules({ namespace: '', name: role });
      return rules !== undefined && uncoveredRules(rights.rulesFor(user, ''), rules).length === 0;
    }
  };
}
