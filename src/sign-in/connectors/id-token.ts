/**
 * ID tokens (OpenID Connect Core, 3.1.3.7) of providers whose issuer openid-client cannot be configured
 * with. The signature is always verified, also for a token from the token endpoint.
 */

import { createRemoteJWKSet, customFetch, type JWTPayload, jwtVerify } from 'jose';
import { isRecord } from '../../apimachinery/index.ts';
import type { ProviderHttp } from '../provider-http.ts';
import { SignInError } from '../sign-in-error.ts';
import { idTokenProblem, KEYS_LIVE_MS } from './id-token-checks.ts';

export interface IdTokenRules {
  readonly clientId: string;
  /** True if the token may come from its issuer. */
  isIssuer(claims: JWTPayload): boolean;
  /** Undefined: none is expected, as after a refresh. */
  readonly nonce?: string | undefined;
  /** Access token that came with the ID token. */
  readonly accessToken: string;
  /** Unix time in ms. */
  readonly now: number;
}

export type IdTokenReader = (token: string, rules: IdTokenRules) => Promise<JWTPayload>;

const SKEW_SECONDS = 30;

/** Keys are fetched at the first token, after a minute, and for an unknown key. */
export function idTokenReader(jwksUrl: string, http: ProviderHttp): IdTokenReader {
  const open = () =>
    createRemoteJWKSet(new URL(jwksUrl), {
      timeoutDuration: 10_000,
      [customFetch]: (url, { headers, method, signal }) =>
        http.fetch(url, { headers, method, signal }),
    });
  let keys = open();
  let openedAt = Number.NEGATIVE_INFINITY;
  return async (token, { clientId, isIssuer, nonce, accessToken, now }) => {
    if (Math.abs(now - openedAt) >= KEYS_LIVE_MS) [keys, openedAt] = [open(), now];
    const { payload } = await jwtVerify(token, keys, {
      audience: clientId,
      algorithms: ['RS256'],
      requiredClaims: ['iss', 'sub', 'exp', 'iat'],
      clockTolerance: SKEW_SECONDS,
      currentDate: new Date(now),
    }).catch((error: unknown) => {
      throw error instanceof SignInError ? error : bad(codeOf(error));
    });
    if (!isIssuer(payload)) throw bad('its issuer is another one');
    const parties = [payload['azp'] ?? clientId, ...[payload.aud ?? []].flat()];
    if (parties.some((party) => party !== clientId)) throw bad('it is meant for others as well');
    if (nonce !== undefined && payload['nonce'] !== nonce) {
      throw bad('it belongs to another attempt to sign in');
    }
    const problem = idTokenProblem(payload, { idToken: token, accessToken, now });
    if (problem !== undefined) throw bad(problem);
    return payload;
  };
}

function bad(why: string): SignInError {
  return new SignInError(`the ID token cannot be relied on: ${why}`, {
    reason: 'bad-id-token',
    code: 502,
  });
}

/** Errors of the library may contain claims; their codes do not. */
function codeOf(error: unknown): string {
  const code = isRecord(error) ? error['code'] : undefined;
  return typeof code === 'string' ? code : 'it cannot be read';
}
