/**
 * Fields of an access key that only the platform writes: its own types of keys, the login that made the
 * key, and the metadata of sign-in and of the OpenID provider. Only changes are checked, so that a
 * restored repository keeps these fields.
 */
import {
  type FieldError,
  type FieldPath,
  forbidden,
  jsonEqual,
  type KubeObject,
  valueAt,
} from '../../apimachinery/index.ts';
import { isSuperuser } from '../../auth/index.ts';
import { LOGIN_ANNOTATIONS } from '../../oidc-server/index.ts';
import type { PlannedChange } from '../../registry/index.ts';
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

export function platformFieldErrors({ user, object, old, brings }: PlannedChange): FieldError[] {
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
