/**
 * Endpoint tokens at a follower, verified with the signing keys that the leader shares as files. Only
 * the leader answers requests with these tokens; a follower verifies one to distinguish its holder from
 * an unknown client.
 */
import type { JSONWebKeySet } from 'jose';
import type { Clock } from '../../apimachinery/index.ts';
import {
  publicKeys,
  readSigningKeys,
  TokenHolders,
  verifyEndpointToken,
  voidReason,
} from '../../auth/index.ts';
import type { Store } from '../../state/index.ts';
import type { AccessControl } from '../access/access-control.ts';
import { isRevokedIn } from '../access/revocation-store.ts';

export interface FollowedTokensParts {
  /** File of the first signing key. */
  readonly keyFile: string;
  readonly store: Pick<Store, 'documents'>;
  readonly access: Pick<AccessControl, 'directory' | 'keyIdOf' | 'keyHolder' | 'scopes'>;
  readonly clock: Clock;
}

/** Shorter than the time that the leader publishes a key before it signs with it. */
const READ_EVERY_MS = 10_000;

/** Returns a function that tells if a text is a valid endpoint token. It never rejects. */
export function followTokens(parts: FollowedTokensParts): (token: string) => Promise<boolean> {
  const { keyFile, store, access, clock } = parts;
  const jwks = sharedKeys(keyFile, clock);
  const facts = { ...access, isRevoked: isRevokedIn(store) };
  const holders = new TokenHolders({
    ...access,
    clock,
    verify: async (token) =>
      await verifyEndpointToken(token, { jwks: await jwks(), now: clock.now() }),
    voidReason: (claims) => voidReason(claims, facts),
  });
  return async (token) => {
    await holders.prepare(token);
    const found = holders.authenticate(token);
    return found !== undefined && 'user' in found;
  };
}

function sharedKeys(file: string, clock: Clock): () => Promise<JSONWebKeySet> {
  let readAt = Number.NEGATIVE_INFINITY;
  let keys: Promise<JSONWebKeySet>;
  return () => {
    if (clock.now() - readAt >= READ_EVERY_MS) {
      readAt = clock.now();
      keys = readSigningKeys(file).then(publicKeys);
    }
    return keys;
  };
}
