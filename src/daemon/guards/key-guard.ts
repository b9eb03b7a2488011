/**
 * Refuses access keys that hold the key of another object, are dated in the future, or have fields that
 * only the platform writes.
 */
import { type Clock, forbidden, invalidObject, invalidSecret } from '../../apimachinery/index.ts';
import { isFromTheFuture, readLifetime } from '../../auth/index.ts';
import type { Guard, PlannedChange } from '../../registry/index.ts';
import type { AccessControl } from '../access/access-control.ts';
import { platformFieldErrors } from './platform-fields.ts';

export interface KeyGuardParts {
  readonly access: Pick<AccessControl, 'holderOf'>;
  readonly clock: Clock;
}

const KEY = ['spec', 'key'];

export function keyGuard({ access, clock }: KeyGuardParts): Guard {
  return (change) => {
    const { kind, object, old } = change;
    if (!kind.isKey || object === undefined) return undefined;
    const { name = '' } = object.metadata;
    const taken = isTaken(access, change)
      ? [invalidSecret(KEY, 'is the key of another object; have a new one made')]
      : [];
    const late =
      old === undefined && isFromTheFuture(readLifetime(object, object.spec ?? {}), clock.now())
        ? [forbidden(['metadata', 'creationTimestamp'], LATE)]
        : [];
    const errors = [...taken, ...late, ...platformFieldErrors(change)];
    return errors.length === 0 ? undefined : invalidObject(kind, name, errors);
  };
}

const LATE =
  'the commit that makes the key is dated in the future; commit again with the right time';

/**
 * Many users can read the hashes of keys in git. An object with the hash of a key in use, in a
 * back-dated commit, would count as the older of the two.
 */
function isTaken(access: KeyGuardParts['access'], { object, brings }: PlannedChange): boolean {
  const key = brings?.[KEY.join('.')];
  const holder = typeof key === 'string' ? access.holderOf(key) : undefined;
  return holder !== undefined && holder !== object?.metadata.name;
}
