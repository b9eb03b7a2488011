/** DirectClusterEndpointToken: a create that signs a token, returns it once and keeps nothing. */
import type { Clock } from '../apimachinery/clock.ts';
import { rfc3339 } from '../apimachinery/clock.ts';
import { isRecord, type JsonObject } from '../apimachinery/object.ts';
import { forbiddenError, invalidObject } from '../apimachinery/status-error.ts';
import { EndpointTokens } from '../auth/endpoint-tokens.ts';
import type { SigningKey } from '../auth/signing-key.ts';
import type { Issuer } from '../registry/registry.ts';
import type { AccessControl } from './access-control.ts';

export interface TokenService {
  readonly plural: string;
  readonly issue: Issuer;
  jwks(): object;
}

export function endpointTokenIssuer(of: {
  key: SigningKey;
  issuer: string;
  clock: Clock;
  access: Pick<AccessControl, 'session'>;
}): TokenService {
  const { key, issuer, clock } = of;
  const tokens = new EndpointTokens({ key, issuer, clock });
  return {
    plural: 'directclusterendpointtokens',
    jwks: () => tokens.jwks(),
    issue: async ({ kind, object, options }) => {
      const session = of.access.session(options.user);
      if (session === undefined) {
        throw forbiddenError('endpoint tokens are issued to the holders of access keys only');
      }
      const { ttl, scope } = object.spec ?? {};
      const issued = await tokens.issue({
        user: options.user,
        owner: session.owner,
        ttl: typeof ttl === 'number' ? ttl : undefined,
        scope: isRecord(scope) ? (scope as JsonObject) : undefined,
        keyScope: session.keyScope,
        keyExpiresAt: session.keyExpiresAt,
      });
      if ('errors' in issued) {
        throw invalidObject(kind, object.metadata.name ?? '', issued.errors);
      }
      const metadata = { ...object.metadata, creationTimestamp: rfc3339(clock.now()) };
      const spec = { ...object.spec, ttl: issued.ttlSeconds };
      // A dry run checks everything and hands out nothing that works.
      const status = options.dryRun ? {} : { token: issued.token };
      return { object: { ...object, metadata, spec, status }, warnings: issued.warnings };
    },
  };
}
