/** Who may write objects that give somebody the rights of others: see `auth/membership.ts`. */
import { forbiddenError } from '../apimachinery/status-error.ts';
import { type MembershipParts, membershipRefusal } from '../auth/membership.ts';
import type { Guard } from '../registry/write-context.ts';

export function membershipGuard(parts: MembershipParts): Guard {
  return ({ user, kind, object, old }) => {
    if (object === undefined) return undefined;
    const after = kind.memberships(object);
    if (after.length === 0) return undefined;
    const before = old === undefined ? [] : kind.memberships(old);
    const refusal = membershipRefusal(parts, { user, after, before });
    if (refusal === undefined) return undefined;
    const name = object.metadata.name ?? '';
    const resource = `${kind.plural}.${kind.group} ${JSON.stringify(name)}`;
    return forbiddenError(`${resource} is forbidden: ${refusal}`, kind, name);
  };
}
