/** The clients of the configuration as the provider sees them: read at each use, never kept. */
import type { ClientMetadata } from 'oidc-provider';
import type { OidcClientConfig, OidcConfig } from './client-config.ts';
import { allowsAfterLogout, allowsOrigin, allowsRedirect, isPublic } from './redirect-uris.ts';

/** Needed by the library, and never asked: redirects are decided by `Clients`. */
const NOWHERE = 'https://redirect.invalid/';

export class Clients {
  readonly #config: () => OidcConfig;

  constructor(config: () => OidcConfig) {
    this.#config = config;
  }

  find(id: string): OidcClientConfig | undefined {
    return this.#config().clients?.find(({ clientId }) => clientId === id);
  }

  /** What people call it. */
  nameOf(id: string): string {
    return this.find(id)?.name || id;
  }

  /** For the library; undefined for a client that nobody has. */
  metadata(id: string): ClientMetadata | undefined {
    const client = this.find(id);
    // A variable of the environment may have turned out to hold something else than a secret.
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

  /** Whether pages of that origin may read answers: those of programs that run in a browser. */
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
