/** Clients of the configuration, read at each use and never cached. */
import type { ClientMetadata } from 'oidc-provider';
import type { OidcClientConfig, OidcConfig } from './client-config.ts';
import { allowsAfterLogout, allowsOrigin, allowsRedirect, isPublic } from './redirect-uris.ts';

/** Required by the library and unused: `Clients` decides about redirects. */
const NOWHERE = 'https://redirect.invalid/';

export class Clients {
  readonly #config: () => OidcConfig;

  constructor(config: () => OidcConfig) {
    this.#config = config;
  }

  find(id: string): OidcClientConfig | undefined {
    return this.#config().clients?.find(({ clientId }) => clientId === id);
  }

  /** Display name. */
  nameOf(id: string): string {
    return this.find(id)?.name || id;
  }

  /** Metadata for the library; undefined: there is no such client. */
  metadata(id: string): ClientMetadata | undefined {
    const client = this.find(id);
    // The environment variable may hold a value that is not a usable secret.
    if (client === undefined || client.clientSecret === '') return undefined;
    const { clientSecret } = client;
    return {
      client_id: id,
      client_name: this.nameOf(id),
      redirect_uris: [NOWHERE],
      response_types: ['code'],
      grant_types: ['authorization_code', 'refresh_token'],
      require_auth_time: true,
      ...(clientSecret === undefined
        ? { token_endpoint_auth_method: 'none' }
        : { client_secret: clientSecret, token_endpoint_auth_method: 'client_secret_basic' }),
    };
  }

  allowsRedirect(id: string, uri: string | undefined): boolean {
    return this.#allows(id, uri, allowsRedirect);
  }

  allowsAfterLogout(id: string, uri: string): boolean {
    return this.#allows(id, uri, allowsAfterLogout);
  }

  /** True if pages of the origin, of clients that run in a browser, may read responses. */
  allowsOrigin(id: string, origin: string): boolean {
    const client = this.find(id);
    return client !== undefined && isPublic(client) && this.#allows(id, origin, allowsOrigin);
  }

  #allows(id: string, uri: string | undefined, rule: typeof allowsRedirect): boolean {
    const client = this.find(id);
    if (client === undefined || typeof uri !== 'string') return false;
    return rule(client, uri, this.#config().wildcardRedirect === true);
  }
}
