/** Tokens of a provider: what they are between two questions, and how they are kept with a key. */
import type { JsonObject } from '../../apimachinery/index.ts';
import type { KeepConnectorData, ProvidedIdentity } from '../connector.ts';
import { SignInError } from '../sign-in-error.ts';

export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken?: string;
  /** Unix time in ms; absent: the access token does not end by itself. */
  readonly expiresAt?: number;
  /** As it came and unverified; it is not kept. */
  readonly idToken?: string;
}

export function persistedTokens({ accessToken, refreshToken, expiresAt }: Tokens): JsonObject {
  return {
    accessToken,
    ...(refreshToken === undefined ? {} : { refreshToken }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
}

/** Throws SignInError, final: nobody can be asked without a token. */
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

/** The reason of a SignInError that says: this access token is not, or no longer, taken. */
export const TOKEN_REFUSED = 'token-refused';

/** So long before its end a token is not used any more. */
const MARGIN_MS = 60_000;

/** How tokens that ended are replaced. */
export interface Renewal {
  readonly clock: { now(): number };
  renew(refreshToken: string): Promise<Tokens>;
  /** What is kept beside the tokens. */
  readonly beside?: JsonObject;
  readonly keep: KeepConnectorData;
}

/**
 * Does something with tokens that are good. They are renewed when their time is over, or when the
 * provider does not take them; renewed ones are kept before they are used, since many providers
 * take a refresh token once.
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
