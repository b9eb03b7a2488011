/**
 * `auth.oidc`: OpenID Connect by the code flow, with PKCE, a nonce, and the issuer of the response if the
 * provider sends it (OpenID Connect Core 1.0; RFC 7636, 9207).
 */
import type { IDToken, TokenEndpointResponse } from 'openid-client';
import { isRecord, type JsonObject } from '../../apimachinery/index.ts';
import type { OIDCConfig } from '../../config/index.ts';
import { fingerprint } from '../../files/index.ts';
import type {
  Callback,
  Connector,
  ConnectorContext,
  KeepConnectorData,
  LoginTransaction,
  NamePrefixes,
  ProvidedIdentity,
  ProviderRedirect,
} from '../connector.ts';
import type { ProviderHttp } from '../provider-http.ts';
import { providerHttp, readCertificates } from '../provider-http.ts';
import { SignInError } from '../sign-in-error.ts';
import { idTokenProblem } from './id-token-checks.ts';
import { type Claims, identityOf, mergedClaims } from './oidc-claims.ts';
import { type CurrentClient, discover, type OidcLibrary } from './oidc-client.ts';

/** HTTP to a provider with the certificates of a file, which is reloaded when it changes. */
interface TrustedHttp extends ProviderHttp {}

/** Longer than any request. */
const OLD_ONE_MS = 30_000;

/** Rejects while the provider cannot be discovered. */
export async function oidcConnector(
  id: string,
  block: OIDCConfig,
  context: ConnectorContext,
): Promise<Connector> {
  if (block.insecureCa === true) {
    context.warn('insecureCa: an attacker on the network can sign in as any user');
  }
  const library = await import('openid-client');
  const { caFile, insecureCa: isInsecure, issuerUrl: issuer } = block;
  const http = openTrustedHttp({ caFile, isInsecure, issuer });
  try {
    const client = await discover(library, block, { fetch: http.fetch, clock: context.clock });
    return new OidcConnector({ id, block, context, library, http, client });
  } catch (error) {
    await http.close();
    throw described(library, error);
  }
}

function openTrustedHttp(of: {
  readonly caFile?: string | undefined;
  readonly isInsecure?: boolean | undefined;
  readonly issuer?: string | undefined;
}): TrustedHttp {
  const { caFile, isInsecure = false, issuer } = of;
  let looks = '';
  let open: ProviderHttp | undefined;
  const current = (): ProviderHttp => {
    const now = caFile ? fingerprint(caFile) : '';
    if (open !== undefined && now === looks) return open;
    const ca = caFile ? { ca: readCertificates(caFile) } : {};
    const before = open;
    open = providerHttp({ ...ca, isInsecure, issuer });
    looks = now;
    // Requests in progress end before the old client closes.
    if (before !== undefined) setTimeout(() => void before.close(), OLD_ONE_MS).unref();
    return open;
  };
  return {
    fetch: async (input, init) => await current().fetch(input, init),
    close: async () => await open?.close(),
  };
}

interface Parts {
  readonly id: string;
  readonly block: OIDCConfig;
  readonly context: ConnectorContext;
  readonly library: OidcLibrary;
  readonly http: TrustedHttp;
  readonly client: CurrentClient;
}

/** Data for a refresh, and for the sign-out at the provider. */
interface OidcData extends JsonObject {
  readonly sub: string;
}

/** A longer ID token does not fit into a URL as a hint. */
const LONGEST_HINT = 6 * 1024;
const DEFAULT_SCOPES = ['email', 'profile'];

class OidcConnector implements Connector {
  readonly type = 'oidc';
  readonly callbackMethod = 'GET';
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  get id(): string {
    return this.#parts.id;
  }

  get prefixes(): NamePrefixes {
    const { usernamePrefix = '', groupsPrefix = '' } = this.#parts.block;
    return { username: usernamePrefix, groups: groupsPrefix };
  }

  async begin(transaction: LoginTransaction): Promise<ProviderRedirect> {
    const { library, client, block } = this.#parts;
    const given = block.scopes.length === 0 ? DEFAULT_SCOPES : block.scopes;
    const scopes = [...new Set(['openid', ...given])];
    const url = library.buildAuthorizationUrl(client(), {
      redirect_uri: transaction.redirectUri,
      scope: scopes.join(' '),
      state: transaction.state,
      nonce: transaction.nonce,
      code_challenge: await library.calculatePKCECodeChallenge(transaction.codeVerifier),
      code_challenge_method: 'S256',
      // Providers issue refresh tokens only after user approval (OpenID Connect Core, 11).
      ...(scopes.includes('offline_access') ? { prompt: 'consent' } : {}),
    });
    return { kind: 'redirect', url: url.href };
  }

  async complete(
    transaction: LoginTransaction,
    callback: Callback,
    signal: AbortSignal,
  ): Promise<ProvidedIdentity> {
    const { library, client } = this.#parts;
    try {
      const tokens = await library.authorizationCodeGrant(
        client(),
        callback.url,
        {
          pkceCodeVerifier: transaction.codeVerifier,
          expectedNonce: transaction.nonce,
          expectedState: transaction.state,
          idTokenExpected: true,
        },
        this.#tokenParameters(),
      );
      signal.throwIfAborted();
      const claims = this.#ofUs(tokens, tokens.claims());
      return await this.#identity(tokens, claims, undefined);
    } catch (error) {
      throw described(library, error);
    }
  }

  async refresh(
    known: ProvidedIdentity,
    signal: AbortSignal,
    keep: KeepConnectorData,
  ): Promise<ProvidedIdentity> {
    const { library, client } = this.#parts;
    const before = known.connectorData as OidcData | undefined;
    const refreshToken = before?.['refreshToken'];
    // Without a refresh token the identity is valid until the key ends.
    if (before === undefined || typeof refreshToken !== 'string') return known;
    try {
      const parameters = this.#tokenParameters();
      const tokens = await library.refreshTokenGrant(client(), refreshToken, parameters);
      // The old token may be void already, whatever follows.
      if (tokens.refresh_token !== undefined) {
        await keep({ ...before, refreshToken: tokens.refresh_token });
      }
      signal.throwIfAborted();
      const claims = tokens.claims();
      if (claims !== undefined && this.#ofUs(tokens, claims).sub !== before.sub)
        throw anotherSubject();
      const { block } = this.#parts;
      if (claims === undefined && block.getUserInfo !== true) {
        return { ...known, connectorData: this.#data(tokens, before.sub, before) };
      }
      return await this.#identity(tokens, claims ?? { sub: before.sub }, before);
    } catch (error) {
      throw described(library, error);
    }
  }

  async logoutUrl(known: ProvidedIdentity | undefined): Promise<string | undefined> {
    const { library, client, block } = this.#parts;
    const { end_session_endpoint: endpoint } = client().serverMetadata();
    if (!block.postLogoutRedirectURI || endpoint === undefined || !/^https?:/i.test(endpoint)) {
      return undefined;
    }
    const hint = known?.connectorData?.['idToken'];
    return library.buildEndSessionUrl(client(), {
      post_logout_redirect_uri: block.postLogoutRedirectURI,
      // The library adds the client id, which is the only hint without an ID token.
      ...(typeof hint === 'string' ? { id_token_hint: hint } : {}),
    }).href;
  }

  async close(): Promise<void> {
    await this.#parts.http.close();
  }

  async #identity(
    tokens: TokenEndpointResponse,
    idToken: Claims & { readonly sub: string },
    before: OidcData | undefined,
  ): Promise<ProvidedIdentity> {
    const { library, client, block, context } = this.#parts;
    const { sub } = idToken;
    const userInfo =
      block.getUserInfo === true
        ? await library.fetchUserInfo(client(), tokens.access_token, sub)
        : {};
    const claims = mergedClaims(idToken, userInfo, block.emailClaim);
    const identity = identityOf(claims, block, context.warn);
    return { ...identity, connectorData: this.#data(tokens, sub, before) };
  }

  #data(tokens: TokenEndpointResponse, sub: string, before: OidcData | undefined): OidcData {
    const { id_token: idToken, refresh_token: refreshToken } = tokens;
    const hint = idToken !== undefined && idToken.length <= LONGEST_HINT ? { idToken } : {};
    return { ...before, ...hint, ...(refreshToken === undefined ? {} : { refreshToken }), sub };
  }

  #tokenParameters(): Record<string, string> {
    const { resource } = this.#parts.block;
    return resource ? { resource } : {};
  }

  /** Refuses a token with other audiences, or requested by another client (OpenID Connect Core, 3.1.3.7). */
  #ofUs(tokens: TokenEndpointResponse, claims: IDToken | undefined): IDToken {
    const { clientId } = this.#parts.block;
    if (claims === undefined) throw badToken('there is no ID token');
    const { aud, azp } = claims;
    if (azp !== undefined && azp !== clientId) throw badToken('it was asked for by another client');
    if (azp === undefined && Array.isArray(aud) && aud.length > 1) {
      throw badToken('it is for several, and does not say who asked for it');
    }
    const { id_token: idToken = '', access_token: accessToken } = tokens;
    // The library uses the system clock for the other times.
    const problem = idTokenProblem(claims, { idToken, accessToken, now: Date.now() });
    if (problem !== undefined) throw badToken(problem);
    return claims;
  }
}

function badToken(why: string): SignInError {
  return new SignInError(`the ID token is not accepted: ${why}`, {
    reason: 'bad-token',
    code: 403,
  });
}

function anotherSubject(): SignInError {
  return badToken('it names another user than before');
}

/** Error codes of providers, which are safe to repeat (RFC 6749, section 5.2). */
const ERROR_CODE = /^[a-z_]{1,64}$/;

/** Classifies an error without repeating outside text. */
function described(library: OidcLibrary, error: unknown): SignInError {
  const own = signInErrorIn(error);
  if (own !== undefined) return own;
  const said = isRecord(error) ? error['error'] : undefined;
  const code = typeof said === 'string' && ERROR_CODE.test(said) ? said : 'an error';
  if (error instanceof library.AuthorizationResponseError) {
    return new SignInError(`the provider refused: ${code}`, {
      reason: 'provider-refused',
      code: 403,
      cause: error,
    });
  }
  if (error instanceof library.ResponseBodyError) {
    const isFinal = error.status < 500 && error.status !== 429;
    return new SignInError(`the token endpoint answered ${code}`, {
      reason: 'token-refused',
      code: isFinal ? 403 : 502,
      cause: error,
    });
  }
  const { code: what = 'unknown', message = '' } = error as { code?: string; message?: string };
  if (what === 'OAUTH_TIMEOUT' || (error as Error).name === 'AbortError') {
    return new SignInError('the provider did not answer in time', {
      reason: 'provider-slow',
      code: 504,
      cause: error,
    });
  }
  const isToken = /JWT|_CLAIM|SIGNATURE|KEY_SELECTION|INVALID_RESPONSE|JSON_ATTRIBUTE/.test(what);
  return new SignInError(`the answer of the provider is not accepted: ${message} (${what})`, {
    reason: isToken ? 'bad-token' : 'bad-answer',
    code: 502,
    cause: error,
  });
}

/** The library wraps errors of the fetch function. */
function signInErrorIn(error: unknown): SignInError | undefined {
  if (error instanceof SignInError) return error;
  const cause = error instanceof Error ? error.cause : undefined;
  return cause === undefined ? undefined : signInErrorIn(cause);
}
