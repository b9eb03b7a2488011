/** What no access key may be, whoever writes it: the key of another object, or one from the future. */
import type { Clock } from '../../apimachinery/clock.ts';
import { forbidden, invalidSecret } from '../../apimachinery/field-error.ts';
import { jsonEqual, valueAt } from '../../apimachinery/object.ts';
import { invalidObject } from '../../apimachinery/status-error.ts';
import { readLifetime } from '../../auth/access-key.ts';
import { isSuperuser } from '../../auth/escalation.ts';
import { isFromTheFuture } from '../../auth/expiry.ts';
import type { Guard, PlannedChange } from '../../registry/write-context.ts';
import type { AccessControl } from '../access/access-control.ts';

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
    const forged = setsIdentity(change) ? [forbidden(IDENTITY, BY_PLATFORM)] : [];
    const errors = [...taken, ...late, ...forged];
    return errors.length === 0 ? undefined : invalidObject(kind, name, errors);
  };
}

const IDENTITY = ['spec', 'identity'];
const BY_PLATFORM = 'who a provider vouched for is written down by the platform alone';

/** Whoever could write it could have the provider asked with what is not theirs. */
function setsIdentity({ user, object, old, brings }: PlannedChange): boolean {
  if (isSuperuser(user)) return false;
  const [now, before] = [object, old].map((version) => valueAt(version, IDENTITY));
  const data = brings?.[[...IDENTITY, 'connectorData'].join('.')];
  return now !== undefined && (data !== undefined || !jsonEqual(now, before));
}

const LATE =
  'the commit that makes the key is dated in the future; commit again with the right time';

/**
 * Hashes of keys are in git for many to read. An object with the hash of a key that is in use, in a
 * commit dated back, would count as the older of the two.
 */
function isTaken(access: KeyGuardParts['access'], { object, brings }: PlannedChange): boolean {
  const key = brings?.[KEY.join('.')];
  const holder = typeof key === 'string' ? access.holderOf(key) : undefined;
  return holder !== undefined && holder !== object?.metadata.name;
}
