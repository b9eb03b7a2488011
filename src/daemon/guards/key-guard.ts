/**
 * Refuses access keys that hold the key of another object, are dated in the future, or have fields that
 * only the platform writes.
 */

import type { FieldError, FieldPath, KubeObject } from '../../apimachinery/index.ts';
import {
  type Clock,
  forbidden,
  invalidObject,
  invalidSecret,
  jsonEqual,
  valueAt,
} from '../../apimachinery/index.ts';
import { isFromTheFuture, isSuperuser, readLifetime } from '../../auth/index.ts';
import { LOGIN_ANNOTATIONS } from '../../oidc-server/index.ts';
import type { Guard, PlannedChange } from '../../registry/index.ts';
import type { AccessControl } from '../access/access-control.ts';
import { PASSWORD_VERSION } from '../sign-in/login-key.ts';

const TYPE = ['spec', 'type'];

/** Types of keys that users and their programs set. */
const TYPES_OF_PEOPLE: readonly unknown[] = [undefined, '', 'User', 'Other'];

const IDENTITY = ['spec', 'identity'];

const FIELDS: readonly FieldPath[] = [
  IDENTITY,
  ...['identityRefresh', 'oidcProvider', 'oidcLogin', 'parent'].map((field) => ['spec', field]),
  ...[PASSWORD_VERSION, ...LOGIN_ANNOTATIONS].map((name) => ['metadata', 'annotations', name]),
];

const BY_PLATFORM = 'is written only by the platform; leave it unchanged, or out of a new key';

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

/**
 * Fields of an access key that only the platform writes: its own types of keys, the login that made the
 * key, and the metadata of sign-in and of the OpenID provider. Only changes are checked, so that a
 * restored repository keeps these fields.
 */
function platformFieldErrors({ user, object, old, brings }: PlannedChange): FieldError[] {
  if (isSuperuser(user)) return [];
  const differs = (path: FieldPath): boolean =>
    !jsonEqual(valueAt(object, path), valueAt(old, path));
  const data = brings?.[[...IDENTITY, 'connectorData'].join('.')];
  const fields = FIELDS.filter(
    (path) => differs(path) || (path === IDENTITY && data !== undefined),
  );
  const [type, before] = [object, old].map(typeOfPlatform);
  return [
    ...fields.map((path) => forbidden(path, BY_PLATFORM)),
    ...(type === before ? [] : [forbidden(TYPE, reasonFor(String(type ?? before)))]),
  ];
}

function typeOfPlatform(key: KubeObject | undefined): unknown {
  const type = valueAt(key, TYPE);
  return TYPES_OF_PEOPLE.includes(type) ? undefined : type;
}

function reasonFor(type: string): string {
  return `keys of type ${JSON.stringify(type)} belong to the platform; use "User", or leave spec.type unchanged`;
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
