/** Who may write objects that give somebody the rights of others: see `auth/membership.ts`. */
import { forbiddenError } from '../apimachinery/status-error.ts';
import { type MembershipParts, membershipRefusal } from '../auth/membership.ts';
import type { Guard, PlannedChange } from '../registry/write-context.ts';

export function membershipGuard(parts: MembershipParts): Guard {
  return (change) => {
    const { user, kind, object, old } = change;
    if (object === undefined) return undefined;
    const after = kind.memberships(object);
    if (after.length === 0) return undefined;
    const before = old === undefined || bringsPassword(parts, change) ? [] : kind.memberships(old);
    const refusal = membershipRefusal(parts, { user, after, before });
    if (refusal === undefined) return undefined;
    const name = object.metadata.name ?? '';
    const resource = `${kind.plural}.${kind.group} ${JSON.stringify(name)}`;
    return forbiddenError(`${resource} is forbidden: ${refusal}`, kind, name);
  };
}

/** Whoever sets the password of a user can sign in as the user. */
function bringsPassword(
  { directory }: MembershipParts,
  { kind, object, brings }: PlannedChange,
): boolean {
  const hash = brings?.['spec.passwordHash'];
  if (kind.isKey || hash === undefined) return false;
  return hash !== directory.user(object?.metadata.name ?? '')?.passwordHash;
}
