/** An OwnedAccessKey in the form that authentication uses, parsed once per version of the object. */
import {
  isRecord,
  type JsonObject,
  type JsonValue,
  type KubeObject,
} from '../../apimachinery/index.ts';
import { isConcealedAccessKey } from '../../kinds/index.ts';
import { text, texts, time } from '../fields.ts';
import type { KeyOwner } from '../identity/identity.ts';
import type { KeyLifetime } from './key-lifetime.ts';

export interface AccessKey {
  readonly name: string;
  readonly uid: string | undefined;
  /** `sha256:…`. */
  readonly concealed: string;
  /** The 32 bytes that `concealed` encodes. */
  readonly digest: Buffer;
  readonly disabled: boolean;
  /** False for keys that only reset a password or refresh a token. */
  readonly forRequests: boolean;
  readonly owner: KeyOwner;
  /** `spec.scope`; undefined: no restriction. A value that is not an object permits nothing. */
  readonly scope: JsonObject | undefined;
  readonly lifetime: KeyLifetime;
  /** `status.lastActivity`, in milliseconds since the epoch. */
  readonly lastActivity: number | undefined;
  /** True if a use must be saved without delay. */
  readonly savedAtOnce: boolean;
}

const TYPES_NOT_FOR_REQUESTS: readonly unknown[] = ['Reset', 'OIDCRefreshToken'];

/** Below this lifetime, losing a use could end a key that is in use. */
const SAVE_AT_ONCE_BELOW_SECONDS = 120;

/** Undefined when the object holds no concealed key. */
export function readAccessKey(
  name: string,
  object: KubeObject,
  hidden: JsonObject | undefined,
): AccessKey | undefined {
  const concealed = hidden?.['key'];
  if (typeof concealed !== 'string' || !isConcealedAccessKey(concealed)) return undefined;
  const spec = object.spec ?? {};
  const lifetime = readLifetime(object, spec);
  const { ttlSeconds = 0, ttlAfterLastActivity } = lifetime;
  const short = ttlSeconds > 0 && ttlSeconds < SAVE_AT_ONCE_BELOW_SECONDS;
  return {
    name,
    uid: object.metadata.uid,
    concealed,
    digest: digestOf(concealed),
    disabled: spec['disabled'] === true,
    forRequests: !TYPES_NOT_FOR_REQUESTS.includes(spec['type']),
    owner: {
      key: name,
      user: text(spec['user']),
      team: text(spec['team']),
      subject: text(spec['subject']),
      groups: texts(spec['groups']),
      ownerUid: text(hidden?.['ownerUid']),
    },
    scope: readScope(spec['scope']),
    lifetime,
    lastActivity: time(object.status?.['lastActivity']),
    savedAtOnce: ttlAfterLastActivity && short,
  };
}

function readScope(scope: JsonValue | undefined): JsonObject | undefined {
  if (scope === undefined) return undefined;
  return isRecord(scope) ? scope : {};
}

function digestOf(concealed: string): Buffer {
  return Buffer.from(concealed.slice(concealed.indexOf(':') + 1), 'hex');
}

/** A key of unknown age counts as oldest, so that any limit on its lifetime has ended it. */
export function readLifetime(object: KubeObject, spec: JsonObject): KeyLifetime {
  const ttl = spec['ttl'];
  return {
    creation: time(object.metadata.creationTimestamp) ?? 0,
    ttlSeconds: typeof ttl === 'number' ? ttl : undefined,
    ttlAfterLastActivity: spec['ttlAfterLastActivity'] === true,
    login: spec['type'] === 'Login',
  };
}
