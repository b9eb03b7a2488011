/** Who may write objects that let their holder act as somebody: see `auth/impersonation.ts`. */
import { type Authorizer, forbiddenError } from '../../apimachinery/index.ts';
import { impersonationRefusal } from '../../auth/index.ts';
import type { Guard } from '../../registry/index.ts';

/** Taking over a key of somebody else is as much as making one, so the old owner counts as well. */
export function impersonationGuard(authorizer: Authorizer): Guard {
  return ({ user, kind, object, old }) => {
    if (object === undefined) return undefined;
    const refusals = [object, old].map(
      (version) => version && impersonationRefusal(authorizer, user, kind.actsAs(version)),
    );
    const refusal = refusals.find((text) => text !== undefined);
    if (refusal === undefined) return undefined;
    const name = object.metadata.name ?? '';
    const resource = `${kind.plural}.${kind.group} ${JSON.stringify(name)}`;
    return forbiddenError(`${resource} is forbidden: ${refusal}`, kind, name);
  };
}
