/**
 * A part of the configuration, with defaults.
 * Generated from schemas/auth-provider-c.json by `npx tsx scripts/docs.ts`.
 */
/** An identity provider with hosted domains and a directory of groups. */
export interface ProviderCConfig {
  /** Client id that the platform is registered with. `$NAME` takes it from the environment. */
  readonly clientId?: string;
  /** Client secret that belongs to the client id. `$NAME` takes it from the environment. */
  readonly clientSecret?: string;
  /** Address that the provider redirects to after login: `https://<platform host>/auth/providerC/callback`. */
  readonly redirectURI?: string;
  /** Scopes to ask for. */
  readonly scopes: readonly string[];
  /** If not empty, only users of these domains may sign in. */
  readonly hostedDomains?: readonly string[];
  /** If not empty, only members of these groups may sign in. Needs `serviceAccountFilePath`. */
  readonly groups?: readonly string[];
  /** Path of a service account file, used to read groups from the directory. */
  readonly serviceAccountFilePath?: string;
  /** Administrator that the service account stands in for when it reads groups. Needed with `serviceAccountFilePath`. */
  readonly adminEmail?: string;
}
