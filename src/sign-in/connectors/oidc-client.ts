/** Client of an OpenID provider, from its discovery document and the configuration. */
import type { Configuration, CustomFetch, ServerMetadata } from 'openid-client';
import type { OIDCConfig } from '../../config/index.ts';
import { isLoopback, refuseAddress } from '../../outbound/index.ts';
import { SignInError } from '../sign-in-error.ts';
import { KEYS_LIVE_MS } from './id-token-checks.ts';

export type OidcLibrary = typeof import('openid-client');

const TIMEOUT_SECONDS = 10;

/** Signatures that only the provider can make: `none` is unsigned, and HMAC uses the client secret. */
const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];
const DEFAULT_ALGORITHM = 'RS256';

/** True for a normalised loopback URL: the only place where plain HTTP is accepted. */
const PLAIN_LOOPBACK = /^http:\/\/(127(\.\d+){3}|\[::1\]|localhost)(:\d+)?(\/|$)/;

/** The current client, with keys that are at most a minute old. */
export type CurrentClient = () => Configuration;

/** Fetches the metadata of the provider. Rejects if it is unreachable or untrusted. */
export async function discover(
  library: OidcLibrary,
  block: OIDCConfig,
  of: { fetch: typeof globalThis.fetch; clock: { now(): number } },
): Promise<CurrentClient> {
  const { issuerUrl = '', clientId = '', clientSecret = '' } = block;
  if (issuerUrl === '' || clientId === '') {
    throw new SignInError('issuerUrl and clientId must be set', {
      reason: 'configuration',
      code: 503,
    });
  }
  const ask: CustomFetch = async (url, options) => await of.fetch(url, options as RequestInit);
  // No network lies between this host and itself.
  const isInsecure = isPlainLoopback(issuerUrl);
  const found = await library.discovery(new URL(issuerUrl), clientId, undefined, library.None(), {
    timeout: TIMEOUT_SECONDS,
    [library.customFetch]: ask,
    execute: isInsecure ? [library.allowInsecureRequests] : [],
  });
  const metadata = JSON.parse(JSON.stringify(found.serverMetadata())) as ServerMetadata;
  refuseEndpoints(metadata, issuerUrl);
  const make = (): Configuration => {
    const own = new library.Configuration(
      { ...metadata, id_token_signing_alg_values_supported: algorithmsOf(metadata) },
      clientId,
      {},
      clientAuth(library, metadata, clientSecret),
    );
    own[library.customFetch] = ask;
    own.timeout = TIMEOUT_SECONDS;
    if (isInsecure) library.allowInsecureRequests(own);
    // Without it, the library trusts TLS and accepts unsigned tokens.
    library.enableNonRepudiationChecks(own);
    return own;
  };
  let current = make();
  let madeAt = of.clock.now();
  return () => {
    const now = of.clock.now();
    // The library caches keys for five minutes per client.
    if (Math.abs(now - madeAt) >= KEYS_LIVE_MS) [current, madeAt] = [make(), now];
    return current;
  };
}

function isPlainLoopback(url: string): boolean {
  return URL.canParse(url) && PLAIN_LOOPBACK.test(new URL(url).href);
}

function isOnLoopback(url: string): boolean {
  return URL.canParse(url) && isLoopback(new URL(url).hostname);
}

/** Browsers and servers take no longer ones. */
const LONGEST_URL = 2048;

/** Endpoints of a discovery document that receive secrets. */
const ENDPOINTS = [
  'authorization_endpoint',
  'token_endpoint',
  'userinfo_endpoint',
  'jwks_uri',
  'end_session_endpoint',
];

/**
 * Requires HTTPS, or plain HTTP on the loopback if the issuer is plain HTTP on the loopback as well. Only a
 * loopback issuer may name the loopback: a remote document must not direct the daemon to local services.
 */
function refuseEndpoints(metadata: ServerMetadata, issuer: string): void {
  for (const name of ENDPOINTS) {
    const value = metadata[name];
    const problem = value === undefined ? undefined : endpointProblem(value, issuer);
    if (problem === undefined) continue;
    throw new SignInError(`${name} of the discovery document ${problem}`, {
      reason: 'bad-endpoint',
      code: 503,
    });
  }
}

function endpointProblem(endpoint: unknown, issuer: string): string | undefined {
  if (typeof endpoint !== 'string' || endpoint.length > LONGEST_URL) {
    return `is not a text of ${LONGEST_URL} characters at most`;
  }
  const isPlainHere = isPlainLoopback(endpoint);
  if (isPlainHere && isPlainLoopback(issuer)) return undefined;
  if (isPlainHere || !/^https:/i.test(endpoint) || !URL.canParse(endpoint)) {
    return 'is not an https URL';
  }
  if (isOnLoopback(endpoint) && !isOnLoopback(issuer)) {
    return 'is on the loopback, which only an issuer on the loopback may name';
  }
  refuseAddress(new URL(endpoint).hostname);
  return undefined;
}

function algorithmsOf(metadata: ServerMetadata): string[] {
  const offered: unknown = metadata.id_token_signing_alg_values_supported ?? [DEFAULT_ALGORITHM];
  const usable = ALGORITHMS.filter((name) => Array.isArray(offered) && offered.includes(name));
  if (usable.length > 0) return usable;
  // Names from outside are not repeated: each attempt to sign in logs the problem.
  throw new SignInError('the provider offers no signature that it alone can make', {
    reason: 'weak-algorithms',
    code: 503,
  });
}

/** Basic by default (RFC 8414, section 2). */
function clientAuth(
  library: OidcLibrary,
  { token_endpoint_auth_methods_supported: methods }: ServerMetadata,
  secret: string,
): ReturnType<OidcLibrary['None']> {
  if (secret === '') return library.None();
  if (methods === undefined || methods.includes('client_secret_basic')) {
    return library.ClientSecretBasic(secret);
  }
  if (methods.includes('client_secret_post')) return library.ClientSecretPost(secret);
  throw new SignInError('the provider takes a client secret in no way that is known here', {
    reason: 'client-authentication',
    code: 503,
  });
}
