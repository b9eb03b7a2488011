/** Right to write objects that give their holder the rights of others: see `auth/membership.ts`. */
import { forbiddenError, type KubeObject } from '../../apimachinery/index.ts';
import { type MembershipParts, membershipRefusal } from '../../auth/index.ts';
import type { Kind, Membership } from '../../kinds/index.ts';
import type { Guard, PlannedChange } from '../../registry/index.ts';

export function membershipGuard(parts: MembershipParts): Guard {
  return (change) => {
    const { user, kind, object } = change;
    if (object === undefined) return undefined;
    const { after, had } = compared(kind, object, change.old);
    if (after.length === 0) return undefined;
    const before = bringsPassword(parts, change) ? [] : had;
    const refusal = membershipRefusal(parts, { user, after, before });
    if (refusal === undefined) return undefined;
    const name = object.metadata.name ?? '';
    const resource = `${kind.plural}.${kind.group} ${JSON.stringify(name)}`;
    return forbiddenError(`${resource} is forbidden: ${refusal}`, kind, name);
  };
}

/**
 * A disabled user is a member of nothing. The user who enables it again does not see memberships that
 * were added meanwhile, so the check treats them as if the user had been enabled all along.
 */
function compared(
  kind: Kind,
  object: KubeObject,
  old: KubeObject | undefined,
): { after: readonly Membership[]; had: readonly Membership[] } {
  const after = kind.memberships(object);
  const of = after.length > 0 ? kind.memberships : onceIn;
  return { after: of(object), had: old === undefined ? [] : of(old) };

  function onceIn(shutOut: KubeObject): readonly Membership[] {
    const { disabled: _disabled, ...spec } = shutOut.spec ?? {};
    return kind.memberships({ ...shutOut, spec });
  }
}

/** A writer who sets the password of a user can sign in as that user. */
function bringsPassword(
  { directory }: MembershipParts,
  { kind, object, brings }: PlannedChange,
): boolean {
  const hash = brings?.['spec.passwordHash'];
  if (kind.isKey || hash === undefined) return false;
  return hash !== directory.user(object?.metadata.name ?? '')?.passwordHash;
}
