/**
 * Tokens for direct connections to a cluster (spec section 2.7): signed, returned once, never stored.
 * ES256, because the API server of Kubernetes does not verify EdDSA.
 *
 * Claims: `iss` the base URL; `sub` the user name; `aud` see `audiences`; `iat`, `nbf`, `exp`, `jti`;
 * `groups` of the identity except `system:…`, which mean something else in another cluster; `email` if
 * known; and under `gitplane` the facts that an agent checks before it acts for the owner: `kind`, `name`,
 * `uid`, `gen` (token generation of the owner: a higher one there voids the token), `key` and `keyId` (name
 * and identity of the access key of the request) and `scope` (null: unrestricted).
 */
import { randomUUID } from 'node:crypto';
import {
  createLocalJWKSet,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  jwtVerify,
  SignJWT,
} from 'jose';
import {
  type Clock,
  type FieldError,
  forbidden,
  invalid,
  isRecord,
  type JsonObject,
  type User,
} from '../../apimachinery/index.ts';
import { texts } from '../fields.ts';
import type { IdentityOwner } from '../identity/identity.ts';
import { PLATFORM_PREFIX } from '../identity/reserved-names.ts';
import { scopeOf } from '../scope/scope.ts';
import type { SigningKeys } from '../signing-keys/key-ring.ts';
import type { SigningKey } from '../signing-keys/signing-key.ts';

const TOKEN_TYPE = 'direct-endpoint+jwt';
const DEFAULT_TTL_SECONDS = 3600;
export const MIN_TTL_SECONDS = 60;
const DEFAULT_MAX_TTL_SECONDS = 86_400;

/** The token must fit into the headers of agents behind proxies with small limits. */
const MAX_TOKEN_BYTES = 8192;
/** For clocks of other machines: replicas that sign, clusters that verify. */
const CLOCK_TOLERANCE_SECONDS = 30;
const TTL = ['spec', 'ttl'];

export interface EndpointTokenOptions {
  readonly keys: SigningKeys;
  /** Base URL of the service, without a trailing slash. */
  readonly issuer: string;
  readonly clock: Clock;
  readonly maxTtlSeconds?: number;
}

export interface TokenRequest {
  /** User with the scope of its access key, which also limits the token. */
  readonly user: User;
  readonly owner: IdentityOwner;
  /** `spec.ttl` in seconds; absent or 0: the default. */
  readonly ttl?: number | undefined;
  /** `spec.scope`; absent: unrestricted. */
  readonly scope?: JsonObject | undefined;
  /** Identity of the caller's access key: the token ends with it. */
  readonly keyId: string;
  /** End of the caller's access key, in milliseconds since the epoch: no token outlives it. */
  readonly keyExpiresAt?: number | undefined;
}

export interface IssuedToken {
  readonly token: string;
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** Granted lifetime; a longer request is cut, with a warning. */
  readonly ttlSeconds: number;
  readonly warnings: readonly string[];
}

/** Errors of the request, for a 422. */
export interface RefusedToken {
  readonly errors: readonly FieldError[];
}

export class EndpointTokens {
  readonly #options: EndpointTokenOptions;

  constructor(options: EndpointTokenOptions) {
    this.#options = options;
  }

  /**
   * A lifetime above the maximum is cut with a warning, because clients of the original product ask for up
   * to 90 days. One below the minimum is refused, as in Kubernetes.
   */
  async issue(request: TokenRequest): Promise<IssuedToken | RefusedToken> {
    const errors = [...ttlProblems(request.ttl), ...scopeProblems(request)];
    if (errors.length > 0) return { errors };
    const { seconds, warnings } = this.#grant(request);
    const now = Math.floor(this.#options.clock.now() / 1000);
    const id = randomUUID();
    const token = await this.#sign({
      ...claims(request),
      iat: now,
      nbf: now,
      exp: now + seconds,
      jti: id,
    });
    if (token.length > MAX_TOKEN_BYTES) {
      const detail = `makes a token of more than ${MAX_TOKEN_BYTES} bytes; name fewer things`;
      return { errors: [forbidden(['spec', 'scope'], detail)] };
    }
    return { token, id, expiresAt: (now + seconds) * 1000, ttlSeconds: seconds, warnings };
  }

  /** Public keys for `/.well-known/jwks.json`. */
  jwks(): JSONWebKeySet {
    return publicKeys(this.#options.keys.published());
  }

  /**
   * Claims of a valid token of this platform, for one of the audiences (absent: any). Throws an error of
   * jose for any other token. The end has no leeway, because this clock set it.
   */
  async verify(token: string, audience?: string | string[]): Promise<JWTPayload> {
    const now = this.#options.clock.now();
    const claims = await verifyEndpointToken(token, {
      jwks: this.jwks(),
      issuer: this.#options.issuer,
      now,
      audience,
    });
    if ((claims.exp ?? 0) * 1000 > now) return claims;
    throw new errors.JWTExpired(
      '"exp" claim timestamp check failed',
      claims,
      'exp',
      'check_failed',
    );
  }

  #grant(request: TokenRequest): { seconds: number; warnings: string[] } {
    const { maxTtlSeconds = DEFAULT_MAX_TTL_SECONDS, clock } = this.#options;
    const wanted = request.ttl || Math.min(DEFAULT_TTL_SECONDS, maxTtlSeconds);
    const left = ((request.keyExpiresAt ?? Number.POSITIVE_INFINITY) - clock.now()) / 1000;
    const seconds = Math.max(1, Math.floor(Math.min(wanted, maxTtlSeconds, left)));
    if (seconds >= wanted) return { seconds, warnings: [] };
    const why =
      maxTtlSeconds <= left ? 'the maximum' : 'what is left of the access key that asked for it';
    return { seconds, warnings: [`spec.ttl: ${wanted} was cut to ${seconds} seconds, ${why}`] };
  }

  #sign(payload: JWTPayload): Promise<string> {
    const { privateKey, kid } = this.#options.keys.current();
    return new SignJWT({ iss: this.#options.issuer, ...payload })
      .setProtectedHeader({ alg: 'ES256', kid, typ: TOKEN_TYPE })
      .sign(privateKey);
  }
}

/** The public part of signing keys. */
export function publicKeys(keys: readonly SigningKey[]): JSONWebKeySet {
  return { keys: keys.map(({ publicJwk }) => ({ ...publicJwk })) };
}

export interface Verification {
  readonly jwks: JSONWebKeySet;
  /** Absent: any issuer with one of the keys. */
  readonly issuer?: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly audience?: string | string[] | undefined;
}

/** Checks that every verifier must make, with the published keys only. Throws an error of jose. */
export async function verifyEndpointToken(
  token: string,
  { jwks, issuer, now, audience }: Verification,
): Promise<JWTPayload> {
  const { payload } = await jwtVerify(token, createLocalJWKSet(jwks), {
    ...(issuer === undefined ? {} : { issuer }),
    ...(audience === undefined ? {} : { audience }),
    algorithms: ['ES256'],
    typ: TOKEN_TYPE,
    requiredClaims: ['exp', 'jti', 'sub', 'aud'],
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    currentDate: new Date(now),
  });
  return payload;
}

function ttlProblems(ttl: number | undefined): FieldError[] {
  if (ttl === undefined || ttl === 0) return [];
  if (!Number.isSafeInteger(ttl)) return [invalid(TTL, ttl, 'must be a whole number of seconds')];
  if (ttl >= MIN_TTL_SECONDS) return [];
  return [invalid(TTL, ttl, `must be at least ${MIN_TTL_SECONDS} seconds, or 0 for the default`)];
}

/** Invariant 10: a token has at most the rights of its key. */
function scopeProblems({ user, scope }: TokenRequest): FieldError[] {
  if (scope === undefined || scopeOf(user)?.coversJson(scope) !== false) return [];
  const detail = 'must be within the scope of the access key that asks; leave it out for the same';
  return [forbidden(['spec', 'scope'], detail)];
}

function claims({ user, owner, keyId, scope: wanted }: TokenRequest): JWTPayload {
  const scope = wanted ?? scopeOf(user)?.source;
  return {
    sub: user.name,
    aud: audiences(scope),
    groups: user.groups.filter((group) => !group.startsWith('system:')),
    ...(user.email === undefined ? {} : { email: user.email }),
    gitplane: {
      kind: owner.kind,
      name: owner.name,
      uid: user.uid ?? null,
      gen: owner.generation,
      key: user.accessKey ?? null,
      keyId,
      scope: scope ?? null,
    },
  };
}

/** Audience of tokens for every cluster. */
const ALL_CLUSTERS_AUDIENCE = `${PLATFORM_PREFIX}clusters`;
/** Audience of tokens whose rights only the `scope` claim can tell. */
const SCOPED_AUDIENCE = `${PLATFORM_PREFIX}scoped-clusters`;

function clusterAudience(cluster: string): string {
  return `${PLATFORM_PREFIX}cluster:${cluster}`;
}

/**
 * Clusters that may accept a token without reading its scope, as the OIDC authenticator of a plain API
 * server does: those in `scope.clusters`, or all without a scope. A scope that lists anything else adds an
 * audience that only a verifier which enforces the scope claim may accept.
 */
export function audiences(scope: JsonObject | undefined): string[] {
  if (scope === undefined) return [ALL_CLUSTERS_AUDIENCE];
  const { clusters, ...others } = scope;
  const entries: unknown[] = Array.isArray(clusters) ? clusters : [];
  const names = texts(entries.filter(isRecord).map(({ cluster }) => cluster)).filter(
    (name) => name !== '',
  );
  const found = names.map((name) => (name === '*' ? ALL_CLUSTERS_AUDIENCE : clusterAudience(name)));
  const more = Object.values(others).some((value) => !isEmpty(value));
  if (more || found.length === 0) found.push(SCOPED_AUDIENCE);
  return [...new Set(found)];
}

function isEmpty(value: unknown): boolean {
  return value === false || (Array.isArray(value) && value.length === 0);
}
