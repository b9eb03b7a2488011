/**
 * A part of the configuration, with defaults.
 * Generated from schemas/auth.json by `npx tsx scripts/docs.ts`.
 */
import type { OIDCConfig } from './auth-oidc.ts';
import type { ProviderAConfig } from './auth-provider-a.ts';
import type { ProviderBConfig } from './auth-provider-b.ts';
import type { ProviderCConfig } from './auth-provider-c.ts';
import type { ProviderDConfig } from './auth-provider-d.ts';
import type { SAMLConfig } from './auth-saml.ts';

/** Sign-in of users. */
export interface AuthConfig {
  /** An OpenID Connect provider. */
  readonly oidc?: OIDCConfig;
  /** A hosted code-collaboration identity provider with organizations and teams. */
  readonly providerA?: ProviderAConfig;
  /** A hosted code-collaboration identity provider with groups. */
  readonly providerB?: ProviderBConfig;
  /** An identity provider with hosted domains and a directory of groups. */
  readonly providerC?: ProviderCConfig;
  /** An identity provider with tenants. */
  readonly providerD?: ProviderDConfig;
  /** A SAML 2.0 identity provider. */
  readonly saml?: SAMLConfig;
  /** A cluster manager whose users sign in with their API keys. */
  readonly providerE?: {
    /** Host name of the cluster manager. */
    readonly host?: string;
    /** API key of the form name:secret. `$NAME` takes it from the environment. */
    readonly bearerToken?: string;
    /** If true, the certificate of the endpoint is not verified. */
    readonly insecure?: boolean;
  };
  /** Signing in with a password. */
  readonly password?: {
    /** If true, no user can sign in with a password. */
    readonly disabled?: boolean;
  };
  /** Further providers. */
  readonly connectors?: readonly {
    /** Part of the login URL; unique. */
    readonly id: string;
    /** Name that the login page shows. */
    readonly displayName?: string;
    /** An OpenID Connect provider. */
    readonly oidc?: OIDCConfig;
    /** A hosted code-collaboration identity provider with organizations and teams. */
    readonly providerA?: ProviderAConfig;
    /** A hosted code-collaboration identity provider with groups. */
    readonly providerB?: ProviderBConfig;
    /** An identity provider with hosted domains and a directory of groups. */
    readonly providerC?: ProviderCConfig;
    /** An identity provider with tenants. */
    readonly providerD?: ProviderDConfig;
    /** A SAML 2.0 identity provider. */
    readonly saml?: SAMLConfig;
  }[];
  /** If true, a login does not create teams for groups that have none. */
  readonly disableTeamCreation: boolean;
  /** If true, a login does not create users: users without a user object cannot sign in. */
  readonly disableUserCreation: boolean;
  /** Longest life of any access key, in seconds. 0 or absent: no limit. */
  readonly accessKeyMaxTTLSeconds?: number;
  /** Life of the keys that logins make, in seconds. Absent: 20 days; 0: no limit. */
  readonly loginAccessKeyTTLSeconds: number;
  /** Further headers of answers from the authentication endpoints. */
  readonly customHttpHeaders?: Readonly<Record<string, string>>;
  /** Regular expressions (RE2). Only groups that match one are saved with the user. Empty keeps all. */
  readonly groupsFilters?: readonly string[];
}
