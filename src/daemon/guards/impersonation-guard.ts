/** Right to write objects that let their holder act as another user: see `auth/impersonation.ts`. */
import { type Authorizer, forbiddenError } from '../../apimachinery/index.ts';
import { impersonationRefusal } from '../../auth/index.ts';
import type { Guard } from '../../registry/index.ts';

/** The old owner counts as well: taking over a key is as powerful as making one. */
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
