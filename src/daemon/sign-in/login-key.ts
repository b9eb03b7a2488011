/** The object of a login key: written from an identity, and read back. */
import { createHash } from 'node:crypto';
import { isRecord, type JsonObject, rfc3339 } from '../../apimachinery/index.ts';
import type { DirectoryUser } from '../../auth/index.ts';
import {
  type AdmittedIdentity,
  type NewLoginKey,
  type PersistedIdentity,
  type ProvidedIdentity,
  SignInError,
} from '../../sign-in/index.ts';
import type { StoredObject } from '../../state/index.ts';

/** Annotation: fingerprint of the user's password when the key was made. A new password ends the session. */
export const PASSWORD_VERSION = 'gitplane.dev/password-version';

export function loginKeyManifest(
  of: Omit<NewLoginKey, 'user'> & {
    readonly user: DirectoryUser;
    readonly apiVersion: string;
    readonly now: number;
  },
): JsonObject {
  const { user, apiVersion, displayName, description, identity, now } = of;
  const version = passwordVersion(user.passwordHash);
  const owner = { apiVersion, kind: 'User', name: user.name, uid: user.uid ?? '' };
  return {
    metadata: {
      generateName: `login-${user.name}`.slice(0, 50).concat('-'),
      ...(user.uid === undefined ? {} : { ownerReferences: [owner] }),
      ...(version === undefined ? {} : { annotations: { [PASSWORD_VERSION]: version } }),
    },
    spec: {
      type: 'Login',
      user: user.name,
      displayName,
      ...(description === undefined ? {} : { description }),
      ...(identity === undefined ? {} : { identity: identitySpec(identity, now) }),
    },
  };
}

/** Identifies a password without revealing it. */
export function passwordVersion(hash: string | undefined): string | undefined {
  return hash === undefined
    ? undefined
    : createHash('sha256').update(`gitplane password\0${hash}`).digest('hex');
}

/** `spec.identity` of a key (spec section 2.6). */
export function identitySpec(identity: AdmittedIdentity, now: number): JsonObject {
  const { provided, accountName: _name, groups, email, preferredUsername, ...rest } = identity;
  return {
    ...rest,
    ...(preferredUsername === undefined ? {} : { preferredUsername }),
    ...(email === undefined ? {} : { email }),
    groups: [...groups],
    connectorData: persistedText(provided),
    identityRefresh: rfc3339(now),
  };
}

/** Bytes: room for 11,000 groups, the most that a provider of tokens lists. Each login has its own copy in memory. */
const LONGEST_IDENTITY = 512 * 1024;

/** Data for refreshes, in the one field that is encrypted and never shown. Throws SignInError. */
export function persistedText(provided: ProvidedIdentity): string {
  const text = JSON.stringify(provided);
  if (Buffer.byteLength(text) <= LONGEST_IDENTITY) return text;
  throw new SignInError(`the provider gave an identity of more than ${LONGEST_IDENTITY} bytes`, {
    reason: 'identity-too-large',
    code: 502,
  });
}

export function readPersistedIdentity({
  object,
  hidden,
}: StoredObject): PersistedIdentity | undefined {
  const text = hidden?.['spec.identity.connectorData'];
  const identity = object.spec?.['identity'];
  const connector = isRecord(identity) ? identity['connector'] : undefined;
  if (typeof text !== 'string' || typeof connector !== 'string') return undefined;
  const provided = parsed(text);
  return isProvidedIdentity(provided) ? { connector, provided } : undefined;
}

function isProvidedIdentity(value: unknown): value is ProvidedIdentity {
  return isRecord(value) && typeof value['userId'] === 'string';
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
