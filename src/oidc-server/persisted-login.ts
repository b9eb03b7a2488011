/**
 * A login of a person at a client, persisted as an access key.
 *
 * All tokens of a login begin with the same characters. The name of its key is a hash of these: a reader
 * of names and hashes can neither make a token nor present a former one, and former tokens are recognised
 * without being stored.
 */
import { createHash } from 'node:crypto';
import { isRecord, type KubeObject } from '../apimachinery/index.ts';
import { accessKeyPrefix, mintAccessKey } from '../kinds/index.ts';
import type { Person } from './account-claims.ts';

export const TOKEN_TYPE = 'OIDCRefreshToken';
export const PREFIX = `${accessKeyPrefix(TOKEN_TYPE)}_`;
/** 95 bits that identify the login; 131 are left for the secret. */
const COMMON_LENGTH = 16;

const SIGNED_IN_AT = 'gitplane.dev/oidc-signed-in-at';
const USER_UID = 'gitplane.dev/oidc-user-uid';
const GENERATION = 'gitplane.dev/oidc-token-generation';
/** Annotations of a key with the person, client and end of the login. */
export const LOGIN_ANNOTATIONS = [SIGNED_IN_AT, USER_UID, GENERATION] as const;

/** A login as read from its key. */
export interface Login {
  /** Name of the access key. */
  readonly name: string;
  readonly user: string;
  readonly clientId: string;
  readonly scope: string;
  readonly nonce: string | undefined;
  readonly redirectUri: string;
  /** Unix times in seconds. */
  readonly signedInAt: number | undefined;
  readonly issuedAt: number;
  /** Undefined: it does not end by itself. */
  readonly expiresAt: number | undefined;
}

export interface NewLogin extends Omit<Login, 'name' | 'user' | 'issuedAt' | 'expiresAt'> {
  readonly person: Person;
  /** Display name of the client. */
  readonly clientName: string;
  /** 0: it does not end by itself. */
  readonly ttlSeconds: number;
}

/** Generates a token; with `former`, one of the same login. */
export function mintToken(former?: string): string {
  const prefix = PREFIX.slice(0, -1);
  return former === undefined ? mintAccessKey(prefix) : mintAccessKey(prefix, commonPart(former));
}

function commonPart(token: string): string {
  return token.slice(PREFIX.length, PREFIX.length + COMMON_LENGTH);
}

/** Name of the key of a token's login. */
export function nameOf(token: string): string {
  const hash = createHash('sha256').update(`gitplane.dev/oidc-login\0${commonPart(token)}`);
  return `oidc-${hash.digest('hex').slice(0, 32)}`;
}

export function annotationsOf({ person, signedInAt }: NewLogin): Record<string, string> {
  return {
    [USER_UID]: person.uid,
    [GENERATION]: String(person.tokenGeneration),
    ...(signedInAt === undefined ? {} : { [SIGNED_IN_AT]: String(signedInAt) }),
  };
}

export function specOf(key: string, login: NewLogin): object {
  const { person, clientId, clientName, nonce, redirectUri, scope, ttlSeconds } = login;
  return {
    displayName: `Login at ${clientName}`,
    type: TOKEN_TYPE,
    user: person.name,
    key,
    ...(ttlSeconds > 0 ? { ttl: ttlSeconds } : {}),
    oidcProvider: {
      clientId,
      redirectUri,
      scopes: scope,
      ...(nonce === undefined ? {} : { nonce }),
    },
  };
}

export function readLogin(name: string, { metadata, spec = {} }: KubeObject): Login | undefined {
  const { oidcProvider, user, type, scope, ttl } = spec;
  if (type !== TOKEN_TYPE || typeof user !== 'string' || !isRecord(oidcProvider)) return undefined;
  // An ID token cannot express the limits of a scope.
  if (scope !== undefined) return undefined;
  const { clientId, nonce, redirectUri, scopes } = oidcProvider;
  if (typeof clientId !== 'string' || typeof redirectUri !== 'string') return undefined;
  const signedInAt = Number(metadata.annotations?.[SIGNED_IN_AT] ?? Number.NaN);
  const issuedAt = Math.floor(Date.parse(metadata.creationTimestamp ?? '') / 1000) || 0;
  return {
    name,
    user,
    clientId,
    redirectUri,
    scope: typeof scopes === 'string' ? scopes : '',
    nonce: typeof nonce === 'string' ? nonce : undefined,
    signedInAt: Number.isSafeInteger(signedInAt) ? signedInAt : undefined,
    issuedAt,
    expiresAt: typeof ttl === 'number' && ttl > 0 ? issuedAt + ttl : undefined,
  };
}

/** A user of the same name may be another one, or may have voided its tokens. */
export function isOf({ metadata }: KubeObject, { uid, tokenGeneration }: Person): boolean {
  const annotations = metadata.annotations ?? {};
  const generation = Number(annotations[GENERATION] ?? Number.NaN);
  return annotations[USER_UID] === uid && generation >= tokenGeneration;
}
