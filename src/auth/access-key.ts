/** An OwnedAccessKey as authentication keeps it: read once, when the object changes. */
import { createHash } from 'node:crypto';
import { isRecord, type JsonObject, type KubeObject } from '../apimachinery/index.ts';
import { isConcealedAccessKey } from '../kinds/index.ts';
import { text, texts, time } from './fields.ts';
import type { KeyOwner } from './identity.ts';
import type { KeyLifetime } from './key-lifetime.ts';

export interface AccessKey {
  readonly name: string;
  readonly uid: string | undefined;
  /** `sha256:…`. */
  readonly concealed: string;
  /** The 32 bytes that `concealed` spells. */
  readonly digest: Buffer;
  readonly disabled: boolean;
  /** False for keys that only reset a password or refresh a token. */
  readonly forRequests: boolean;
  readonly owner: KeyOwner;
  /** `spec.scope`; undefined for no restriction. Anything that is no object permits nothing. */
  readonly scope: JsonObject | undefined;
  readonly lifetime: KeyLifetime;
  /** `status.lastActivity`, in milliseconds since the epoch. */
  readonly lastActivity: number | undefined;
  /** Whether a use must be saved without delay. */
  readonly savedAtOnce: boolean;
}

const TYPES_NOT_FOR_REQUESTS: readonly unknown[] = ['Reset', 'OIDCRefreshToken'];

/** A lost use could end a key with a shorter life while it is in use. */
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

/**
 * Identity of a key: another one for a later key of the same name, and for the same object with
 * another text. 43 characters of base64url; nobody can tell the key from it.
 */
export function identityOf({ uid = '', concealed }: AccessKey): string {
  return createHash('sha256').update(`${uid}\0${concealed}`).digest('base64url');
}

function readScope(scope: unknown): JsonObject | undefined {
  if (scope === undefined) return undefined;
  return isRecord(scope) ? (scope as JsonObject) : {};
}

function digestOf(concealed: string): Buffer {
  return Buffer.from(concealed.slice(concealed.indexOf(':') + 1), 'hex');
}

/** A key of unknown age is as old as can be: whatever limits a life has ended it. */
export function readLifetime(object: KubeObject, spec: JsonObject): KeyLifetime {
  const ttl = spec['ttl'];
  return {
    creation: time(object.metadata.creationTimestamp) ?? 0,
    ttlSeconds: typeof ttl === 'number' ? ttl : undefined,
    ttlAfterLastActivity: spec['ttlAfterLastActivity'] === true,
    login: spec['type'] === 'Login',
  };
}
