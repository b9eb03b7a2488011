/** A client of an OpenID provider, as its discovery document and the configuration make it. */
import type { Configuration, CustomFetch, ServerMetadata } from 'openid-client';
import type { OIDCConfig } from '../../config/index.ts';
import { isLoopback, refuseAddress } from '../../outbound/index.ts';
import { SignInError } from '../sign-in-error.ts';
import { KEYS_LIVE_MS } from './id-token-checks.ts';

export type OidcLibrary = typeof import('openid-client');

const TIMEOUT_SECONDS = 10;

/** Signatures that a provider alone can make: `none` is no signature, and HMAC takes our own secret. */
const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];
const DEFAULT_ALGORITHM = 'RS256';

/** Of a URL that the parser wrote. Plain HTTP is taken nowhere else. */
const PLAIN_LOOPBACK = /^http:\/\/(127(\.\d+){3}|\[::1\]|localhost)(:\d+)?(\/|$)/;

/** The client of now: its keys are those that the provider published in the last minute. */
export type CurrentClient = () => Configuration;

/** Asks the provider for its metadata. Rejects when it cannot be asked, or is none to be trusted. */
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
  // Nobody is between us and ourselves.
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
    // Without it the library trusts TLS, and reads what anybody signed.
    library.enableNonRepudiationChecks(own);
    return own;
  };
  let current = make();
  let madeAt = of.clock.now();
  return () => {
    const now = of.clock.now();
    // The library holds keys for five minutes, each client its own.
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

/** Members of a discovery document that requests and browsers go to, with secrets. */
const ENDPOINTS = [
  'authorization_endpoint',
  'token_endpoint',
  'userinfo_endpoint',
  'jwks_uri',
  'end_session_endpoint',
];

/**
 * HTTPS, or plain HTTP on the loopback where the issuer is plain HTTP on the loopback as well. Only
 * an issuer on the loopback names it at all: a document from elsewhere must not lead the daemon to
 * what listens beside it.
 */
function refuseEndpoints(metadata: ServerMetadata, issuer: string): void {
  for (const name of ENDPOINTS) {
    const value = metadata[name];
    const problem = value === undefined ? undefined : endpointProblem(String(value), issuer);
    if (problem === undefined) continue;
    throw new SignInError(`${name} of the discovery document ${problem}`, {
      reason: 'bad-endpoint',
      code: 503,
    });
  }
}

function endpointProblem(endpoint: string, issuer: string): string | undefined {
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
  const offered = metadata.id_token_signing_alg_values_supported ?? [DEFAULT_ALGORITHM];
  const usable = offered.filter((name) => ALGORITHMS.includes(name));
  if (usable.length > 0) return usable;
  throw new SignInError(
    `the provider signs with ${offered.join(', ')} only, which proves nothing`,
    {
      reason: 'weak-algorithms',
      code: 503,
    },
  );
}

/** Basic where nothing is said (RFC 8414, section 2). */
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
