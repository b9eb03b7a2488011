/** Bindings of roles to teams: see `auth/team-binding.ts`. */
import { forbiddenError } from '../../apimachinery/status-error.ts';
import type { RuleSource } from '../../auth/authorizer.ts';
import { isSuperuser } from '../../auth/escalation.ts';
import { teamNotToBind, teamsInBinding } from '../../auth/team-binding.ts';
import { RBAC_GROUP } from '../../kinds/kind.ts';
import type { Guard } from '../../registry/writes/write-context.ts';

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
