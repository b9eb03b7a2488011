/** Right to bind roles to teams: see `auth/team-binding.ts`. */
import { forbiddenError } from '../../apimachinery/index.ts';
import { isSuperuser, type RuleSource, teamNotToBind, teamsInBinding } from '../../auth/index.ts';
import { RBAC_GROUP } from '../../kinds/index.ts';
import type { Guard } from '../../registry/index.ts';

export function teamBindingGuard(rights: RuleSource, group: string): Guard {
  return ({ user, kind, object, old }) => {
    if (kind.group !== RBAC_GROUP || object === undefined || isSuperuser(user)) return undefined;
    const team = teamNotToBind(rights, { user, group, ...teamsInBinding(object, old) });
    if (team === undefined) return undefined;
    const { name = '' } = object.metadata;
    const resource = `${kind.plural}.${kind.group} ${JSON.stringify(name)}`;
    const why = `User ${JSON.stringify(user.name)} cannot bind teams ${JSON.stringify(team)}`;
    return forbiddenError(`${resource} is forbidden: ${why}`, kind, name);
  };
}
