/**
 * A part of the configuration, with defaults.
 * Generated from schemas/auth-provider-b.json by `npx tsx scripts/docs.ts`.
 */
/** A hosted code-collaboration identity provider with groups. */
export interface ProviderBConfig {
  /** Client id that the platform is registered with. `$NAME` takes it from the environment. */
  readonly clientId?: string;
  /** Client secret that belongs to the client id. `$NAME` takes it from the environment. */
  readonly clientSecret?: string;
  /** Address that the provider redirects to after login: `https://<platform host>/auth/providerB/callback`. */
  readonly redirectURI?: string;
  /** Address of a self-hosted edition. Absent: the public one. */
  readonly baseURL?: string;
  /** Full paths of groups. Only these count, and users in none of them cannot sign in. Absent: all users can sign in, with all groups. */
  readonly groups?: readonly string[];
}
