/**
 * The authorization code flow of OAuth 2 with PKCE (RFC 6749, 7636, 9207), on openid-client. ID tokens are
 * returned unverified: issuers differ between providers, so each connector verifies its own.
 */
import type { Configuration } from 'openid-client';
import { isRecord } from '../../apimachinery/index.ts';
import type { Callback, LoginTransaction } from '../connector.ts';
import type { ProviderHttp } from '../provider-http.ts';
import { SignInError } from '../sign-in-error.ts';
import { readAnswer } from './provider-responses.ts';
import type { Tokens } from './tokens.ts';

export interface CodeFlowOptions {
  /** Expected `iss` of a callback, if the provider sends one; undefined: it varies. */
  readonly issuer: string | undefined;
  readonly authorizeUrl: string;
  readonly tokenUrl: string;
  readonly clientId: string;
  /** Empty or absent: a public client. */
  readonly clientSecret?: string | undefined;
  readonly scopes: readonly string[];
  readonly http: () => ProviderHttp;
  readonly clock: { now(): number };
}

export interface CodeFlow {
  /** URL for the browser; `further` are parameters of the provider. */
  authorizationUrl(
    transaction: LoginTransaction,
    further?: Readonly<Record<string, string>>,
  ): Promise<string>;
  /** Throws SignInError. */
  exchange(transaction: LoginTransaction, callback: Callback, signal: AbortSignal): Promise<Tokens>;
  /** Throws SignInError, final when the grant has ended. */
  renew(refreshToken: string, signal: AbortSignal): Promise<Tokens>;
}

type OpenidClient = typeof import('openid-client');

export function codeFlow(options: CodeFlowOptions): CodeFlow {
  return {
    authorizationUrl: (transaction, further = {}) =>
      authorizationUrl(options, transaction, further),
    exchange: (transaction, callback, signal) =>
      withGrant(options, signal, (client, config) =>
        client.authorizationCodeGrant(config, callbackUrl(options, transaction, callback), {
          pkceCodeVerifier: transaction.codeVerifier,
          expectedState: transaction.state,
        }),
      ),
    renew: (refreshToken, signal) =>
      withGrant(options, signal, (client, config) =>
        client.refreshTokenGrant(config, refreshToken),
      ),
  };
}

async function authorizationUrl(
  options: CodeFlowOptions,
  { redirectUri, state, codeVerifier }: LoginTransaction,
  further: Readonly<Record<string, string>>,
): Promise<string> {
  const client = await import('openid-client');
  const url = client.buildAuthorizationUrl(configurationOf(client, options), {
    ...further,
    redirect_uri: redirectUri,
    scope: options.scopes.join(' '),
    state,
    code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
  });
  return url.href;
}

function configurationOf(client: OpenidClient, options: CodeFlowOptions): Configuration {
  const { issuer, authorizeUrl, tokenUrl, clientId, clientSecret } = options;
  if (clientId === '') {
    const message = 'the connector has no clientId; register the platform at the provider';
    throw new SignInError(message, { reason: 'not-configured', code: 502 });
  }
  const config = new client.Configuration(
    {
      issuer: issuer ?? new URL(authorizeUrl).origin,
      authorization_endpoint: authorizeUrl,
      token_endpoint: tokenUrl,
    },
    clientId,
    undefined,
    clientSecret ? client.ClientSecretPost(clientSecret) : client.None(),
  );
  if (tokenUrl.startsWith('http://')) client.allowInsecureRequests(config);
  return config;
}

/** Redirect URI as registered, with the received query: the request may use another host name. */
function callbackUrl(
  { issuer }: CodeFlowOptions,
  { redirectUri }: LoginTransaction,
  { url: { search } }: Callback,
): URL {
  const url = new URL(redirectUri);
  url.search = search;
  if (issuer === undefined) url.searchParams.delete('iss');
  return url;
}

/** Checks a token response (RFC 6749, section 5.1). */
interface Granted {
  readonly access_token: string;
  readonly refresh_token?: string;
  readonly expires_in?: number;
}

async function withGrant(
  options: CodeFlowOptions,
  signal: AbortSignal,
  ask: (client: OpenidClient, config: Configuration) => Promise<Granted>,
): Promise<Tokens> {
  const client = await import('openid-client');
  const config = configurationOf(client, options);
  let idToken: string | undefined;
  let isAsked = false;
  config[client.customFetch] = async (url, init) => {
    isAsked = true;
    const { body, headers, method } = init;
    const response = await options.http().fetch(url, {
      headers,
      method,
      body: String(body),
      signal,
    });
    const answer = await readAnswer(url, response);
    if (isRecord(answer.body) && typeof answer.body['id_token'] === 'string') {
      idToken = answer.body['id_token'];
      delete answer.body['id_token'];
    }
    return new Response(JSON.stringify(answer.body ?? ''), {
      status: answer.status,
      headers: { 'content-type': 'application/json' },
    });
  };
  const granted = await ask(client, config).catch((error: unknown) => {
    throw grantProblem(error, new URL(options.tokenUrl).origin, isAsked);
  });
  const { access_token: accessToken, refresh_token, expires_in } = granted;
  return {
    accessToken,
    ...(refresh_token === undefined ? {} : { refreshToken: refresh_token }),
    ...(expires_in === undefined ? {} : { expiresAt: options.clock.now() + expires_in * 1000 }),
    ...(idToken === undefined ? {} : { idToken }),
  };
}

/** Errors that say nothing about the user: misconfiguration or temporary failure. */
const NOT_THE_PERSON = new Set([
  'incorrect_client_credentials',
  'invalid_client',
  'invalid_request',
  'invalid_scope',
  'redirect_uri_mismatch',
  'server_error',
  'slow_down',
  'temporarily_unavailable',
  'unauthorized_client',
  'unsupported_grant_type',
]);

/** Errors of the library contain whole responses, tokens included: only the error code is passed on. */
function grantProblem(error: unknown, origin: string, isAsked: boolean): SignInError {
  const known = causesOf(error).find((cause) => cause instanceof SignInError);
  if (known !== undefined) return known;
  const word = errorWord(error);
  if (word === 'access_denied') {
    return new SignInError(`${origin} was told not to let the platform know`, {
      reason: 'denied-at-provider',
      code: 403,
    });
  }
  if (word === undefined) {
    return isAsked
      ? new SignInError(`${origin} gave no token that can be used`, {
          reason: 'no-grant',
          code: 502,
        })
      : new SignInError(`the browser brought nothing that belongs to this attempt at ${origin}`, {
          reason: 'callback-mismatch',
        });
  }
  return new SignInError(`${origin} refuses with ${word}`, {
    reason: 'grant-refused',
    code: NOT_THE_PERSON.has(word) ? 502 : 400,
  });
}

/** `error` of RFC 6749, from the callback, an error, or a response with status 200. */
function errorWord(error: unknown): string | undefined {
  for (const cause of causesOf(error)) {
    const candidates = [cause, isRecord(cause) ? cause['body'] : undefined];
    for (const candidate of candidates) {
      const word = isRecord(candidate) ? candidate['error'] : undefined;
      if (typeof word === 'string') return /^[a-z_]{1,64}$/i.test(word) ? word : 'an error';
    }
  }
  return undefined;
}

function causesOf(error: unknown): unknown[] {
  const causes: unknown[] = [];
  let cause = error;
  while (cause !== undefined && cause !== null && causes.length < 8) {
    causes.push(cause);
    cause = isRecord(cause) ? cause['cause'] : undefined;
  }
  return causes;
}
