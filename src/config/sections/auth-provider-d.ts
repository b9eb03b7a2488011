/**
 * A part of the configuration, with defaults.
 * Generated from schemas/auth-provider-d.json by `npx tsx scripts/docs.ts`.
 */
/** An identity provider with tenants. */
export interface ProviderDConfig {
  /** Client id that the platform is registered with. `$NAME` takes it from the environment. */
  readonly clientId?: string;
  /** Client secret that belongs to the client id. `$NAME` takes it from the environment. */
  readonly clientSecret?: string;
  /** Address that the provider redirects to after login: `https://<platform host>/auth/providerD/callback`. */
  readonly redirectURI?: string;
  /** Accounts that may sign in: `common` (personal, business and school), `consumers` (personal), `organizations` (business and school), or the uuid or name of one tenant. */
  readonly tenant: string;
  /** People must be members of one of these groups, which are named by display name or object id. Needs a single tenant. */
  readonly groups?: readonly string[];
  /** If true, only security groups count. */
  readonly onlySecurityGroups?: boolean;
  /** If true, only the groups in `groups` count. */
  readonly useGroupsAsWhitelist?: boolean;
}
