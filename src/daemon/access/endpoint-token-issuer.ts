/** DirectClusterEndpointToken: a create signs a token and returns it once. Nothing is stored. */
import {
  badRequest,
  type Clock,
  forbiddenError,
  invalidObject,
  isRecord,
  rfc3339,
  type User,
  unavailable,
} from '../../apimachinery/index.ts';
import {
  EndpointTokens,
  forbidden,
  KeyRing,
  type Revocation,
  Revocations,
  RevocationsFullError,
  TokenHolders,
  voidReason,
} from '../../auth/index.ts';
import type { KindTable } from '../../kinds/index.ts';
import type { Issuer } from '../../registry/index.ts';
import type { TokenDocuments } from '../../server/index.ts';
import type { Store } from '../../state/index.ts';
import type { AccessControl } from './access-control.ts';
import { revocationStore } from './revocation-store.ts';

export interface TokenService extends TokenDocuments {
  readonly plural: string;
  readonly issue: Issuer;
  /** Claims of a valid token. Throws with the reason for any other token. */
  review(token: string, audiences: readonly string[]): Promise<Readonly<Record<string, unknown>>>;
  /** Users of the tokens in the clusters served here. */
  readonly holders: TokenHolders;
  /** Rotates the signing keys that are due, and drops revocations of tokens that ended. */
  rotateKeys(): Promise<void>;
}

const PLURAL = 'directclusterendpointtokens';
const DAY_MS = 86_400_000;
const ROTATE_AFTER_MS = 90 * DAY_MS;

export interface TokenServiceOptions {
  /** File of the first signing key. */
  readonly keyFile: string;
  /** Base URL of the service, without a trailing slash. */
  readonly issuer: string;
  /** Longest lifetime of a token in seconds. */
  readonly maxTtlSeconds: number;
  readonly clock: Clock;
  readonly store: Store;
  readonly kinds: KindTable;
  readonly access: Pick<
    AccessControl,
    'session' | 'directory' | 'keyIdOf' | 'keyHolder' | 'scopes' | 'authorizer'
  >;
}

export async function openTokenService(options: TokenServiceOptions): Promise<TokenService> {
  const { issuer, clock, access, maxTtlSeconds } = options;
  const keys = await KeyRing.open({
    file: options.keyFile,
    clock,
    rotateAfterMs: ROTATE_AFTER_MS,
    longestTokenMs: maxTtlSeconds * 1000,
  });
  const revocations = new Revocations(revocationStore(options.store), clock);
  const tokens = new EndpointTokens({ keys, issuer, clock, maxTtlSeconds });
  const facts = { ...access, isRevoked: (id: string) => revocations.has(id) };
  return {
    plural: PLURAL,
    issuer,
    jwks: () => tokens.jwks(),
    issue: issueWith(tokens, options),
    review: async (token, audiences) => {
      const claims = await tokens.verify(
        token,
        audiences.length === 0 ? undefined : [...audiences],
      );
      const why = voidReason(claims, facts);
      if (why !== undefined) throw new Error(why);
      return claims;
    },
    holders: new TokenHolders({
      ...access,
      clock,
      verify: (token) => tokens.verify(token),
      voidReason: (claims) => voidReason(claims, facts),
    }),
    revocations: () => revocations.list(),
    revoke: async (token) => {
      const { jti = '', exp = 0 } = await tokens.verify(token).catch(() => {
        throw badRequest('the token was not issued by this platform, or it has expired');
      });
      await end(revocations, { id: jti, expiresAt: exp * 1000 });
    },
    revokeById: async (id, user) => {
      refuseUnlessDeleter(options, id, user);
      const expiresAt = clock.now() + maxTtlSeconds * 1000;
      await end(revocations, { id, expiresAt });
    },
    rotateKeys: async () => {
      await Promise.all([keys.tend(), revocations.sweep()]);
    },
  };
}

async function end(revocations: Revocations, revocation: Revocation): Promise<void> {
  try {
    await revocations.revoke(revocation);
  } catch (error) {
    if (error instanceof RevocationsFullError) throw unavailable(error.message);
    throw error;
  }
}

function refuseUnlessDeleter(
  { kinds, access }: TokenServiceOptions,
  name: string,
  user: User,
): void {
  const [group = ''] = kinds.groups;
  const attributes = { verb: 'delete', group, resource: PLURAL, namespace: '', name };
  const { allowed, reason } = access.authorizer.authorize(user, attributes);
  if (!allowed) throw forbidden(user, attributes, reason);
}

function issueWith(tokens: EndpointTokens, { access, clock }: TokenServiceOptions): Issuer {
  return async ({ kind, object, options }) => {
    const session = access.session(options.user);
    if (session === undefined) {
      throw forbiddenError('endpoint tokens are issued to the holders of access keys only');
    }
    const { ttl, scope } = object.spec ?? {};
    const issued = await tokens.issue({
      user: options.user,
      owner: session.owner,
      keyId: session.keyId,
      ttl: typeof ttl === 'number' ? ttl : undefined,
      scope: isRecord(scope) ? scope : undefined,
      keyExpiresAt: session.keyExpiresAt,
    });
    if ('errors' in issued) throw invalidObject(kind, object.metadata.name ?? '', issued.errors);
    const metadata = { ...object.metadata, creationTimestamp: rfc3339(clock.now()) };
    const spec = { ...object.spec, ttl: issued.ttlSeconds };
    // A dry run checks everything and returns no token.
    const status = options.dryRun ? {} : { token: issued.token };
    return { object: { ...object, metadata, spec, status }, warnings: issued.warnings };
  };
}
