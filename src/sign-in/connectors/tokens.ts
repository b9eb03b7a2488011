/** Tokens of a provider: in use, and as persisted with a key. */
import type { JsonObject } from '../../apimachinery/index.ts';
import type { KeepConnectorData, ProvidedIdentity } from '../connector.ts';
import { SignInError } from '../sign-in-error.ts';

export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken?: string;
  /** Unix time in ms; absent: the access token does not expire. */
  readonly expiresAt?: number;
  /** Raw and unverified; not persisted. */
  readonly idToken?: string;
}

export function persistedTokens({ accessToken, refreshToken, expiresAt }: Tokens): JsonObject {
  return {
    accessToken,
    ...(refreshToken === undefined ? {} : { refreshToken }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
}

/** Throws SignInError, final: without a token the provider cannot be asked. */
export function tokensOf(known: ProvidedIdentity): Tokens {
  const { accessToken, refreshToken, expiresAt } = known.connectorData ?? {};
  if (typeof accessToken !== 'string') {
    throw new SignInError('no token of the provider was kept', { reason: 'no-token', code: 403 });
  }
  return {
    accessToken,
    ...(typeof refreshToken === 'string' ? { refreshToken } : {}),
    ...(typeof expiresAt === 'number' ? { expiresAt } : {}),
  };
}

/** Reason of a SignInError for an access token that the provider refuses. */
export const TOKEN_REFUSED = 'token-refused';

/** Margin before the expiry in which a token is no longer used. */
const MARGIN_MS = 60_000;

/** Renewal of expired tokens. */
export interface Renewal {
  readonly clock: { now(): number };
  renew(refreshToken: string): Promise<Tokens>;
  /** Data to persist beside the tokens. */
  readonly beside?: JsonObject;
  readonly keep: KeepConnectorData;
}

/**
 * Runs work with valid tokens. They are renewed when they have expired, or when the provider refuses them.
 * Renewed tokens are persisted before they are used, since many providers accept a refresh token once.
 */
export async function withGoodTokens<Result>(
  tokens: Tokens,
  renewal: Renewal,
  use: (tokens: Tokens) => Promise<Result>,
): Promise<Result> {
  const { refreshToken, expiresAt = Number.POSITIVE_INFINITY } = tokens;
  if (refreshToken === undefined) return use(tokens);
  if (expiresAt - MARGIN_MS <= renewal.clock.now()) return use(await renewed(tokens, renewal));
  try {
    return await use(tokens);
  } catch (error) {
    if (!(error instanceof SignInError) || error.reason !== TOKEN_REFUSED) throw error;
    return use(await renewed(tokens, renewal));
  }
}

async function renewed(tokens: Tokens, { renew, beside, keep }: Renewal): Promise<Tokens> {
  const { refreshToken = '' } = tokens;
  const fresh = { refreshToken, ...(await renew(refreshToken)) };
  await keep({ ...beside, ...persistedTokens(fresh) });
  return fresh;
}
