/**
 * A part of the configuration, with defaults.
 * Generated from schemas/auth-provider-a.json by `npx tsx scripts/docs.ts`.
 */
/** A hosted code-collaboration identity provider with organizations and teams. */
export interface ProviderAConfig {
  /** Client id that the platform is registered with. `$NAME` takes it from the environment. */
  readonly clientId?: string;
  /** Client secret that belongs to the client id. `$NAME` takes it from the environment. */
  readonly clientSecret?: string;
  /** Address that the provider redirects to after login: `https://<platform host>/auth/providerA/callback`. */
  readonly redirectURI?: string;
  /** Organizations whose teams become groups, named `organization:team`. If set, users must be members of at least one. Absent: all users may sign in, without groups. */
  readonly orgs?: readonly {
    /** Name of the organization as its address has it. */
    readonly name: string;
    /** Teams, by their names and not their slugs, of which one is enough to get in. Absent: any member of the organization. */
    readonly teams?: readonly string[];
  }[];
  /** Host of a self-hosted edition. */
  readonly hostName?: string;
  /** Root certificate of a self-hosted edition: a path, PEM, or base64 of PEM. */
  readonly rootCA?: string;
}
