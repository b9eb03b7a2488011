/** A client of an OpenID provider, as its discovery document and the configuration make it. */
import type { Configuration, CustomFetch, ServerMetadata } from 'openid-client';
import type { OIDCConfig } from '../../config/sections/auth-oidc.ts';
import { SignInError } from '../sign-in-error.ts';

export type OidcLibrary = typeof import('openid-client');

const TIMEOUT_SECONDS = 10;

/** Signatures that a provider alone can make: `none` is no signature, and HMAC takes our own secret. */
const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];
const DEFAULT_ALGORITHM = 'RS256';

const LOOPBACK = /^http:\/\/(127(\.\d+){3}|\[::1\]|localhost)(:\d+)?(\/|$)/;

/** Asks the provider for its metadata. Rejects when it cannot be asked, or is none to be trusted. */
export async function discover(
  library: OidcLibrary,
  block: OIDCConfig,
  fetch: typeof globalThis.fetch,
): Promise<Configuration> {
  const { issuerUrl = '', clientId = '', clientSecret = '' } = block;
  if (issuerUrl === '' || clientId === '') {
    throw new SignInError('issuerUrl and clientId must be set', {
      reason: 'configuration',
      code: 503,
    });
  }
  const ask: CustomFetch = async (url, options) => await fetch(url, options as RequestInit);
  // Nobody is between us and ourselves.
  const isInsecure = LOOPBACK.test(issuerUrl);
  const found = await library.discovery(new URL(issuerUrl), clientId, undefined, library.None(), {
    timeout: TIMEOUT_SECONDS,
    [library.customFetch]: ask,
    execute: isInsecure ? [library.allowInsecureRequests] : [],
  });
  const metadata = JSON.parse(JSON.stringify(found.serverMetadata())) as ServerMetadata;
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
