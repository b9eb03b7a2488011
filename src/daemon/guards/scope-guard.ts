/** Writes that a key with a scope may never make, whatever its scope and its owner allow. */
import { type Clock, forbiddenError } from '../../apimachinery/index.ts';
import { beyondDelegatingKey, type KeyLifetimeLimits, scopeOf } from '../../auth/index.ts';
import type { Guard, PlannedChange } from '../../registry/index.ts';
import type { AccessControl } from '../access/access-control.ts';

export interface ScopeGuardParts {
  readonly access: Pick<AccessControl, 'session'>;
  readonly limits: () => KeyLifetimeLimits;
  readonly clock: Clock;
}

export function scopeGuard(parts: ScopeGuardParts): Guard {
  return (change) => {
    const { kind, object, old, user } = change;
    const why = refusal(parts, change);
    if (why === undefined) return undefined;
    const { name = '' } = (object ?? old)?.metadata ?? {};
    const resource = `${kind.plural}.${kind.group} ${JSON.stringify(name)}`;
    const key = `access key ${JSON.stringify(user.accessKey)}`;
    return forbiddenError(`${resource} is forbidden: ${key} has a scope, and ${why}`, kind, name);
  };
}

function refusal(parts: ScopeGuardParts, change: PlannedChange): string | undefined {
  const { kind, object, user } = change;
  const scope = scopeOf(user);
  if (scope === undefined) return undefined;
  if (kind.governsAccess) {
    return 'objects that decide about access take a key without a scope';
  }
  if (!kind.isKey || object === undefined) return undefined;
  // Without a session, the lifetime of the key is unknown: nothing may be delegated.
  const expiresAt = parts.access.session(user)?.keyExpiresAt ?? 0;
  const { clock } = parts;
  const why = beyondDelegatingKey({ scope, expiresAt }, object, { clock, limits: parts.limits() });
  return why && `keys written with it must not reach further: ${why}`;
}
