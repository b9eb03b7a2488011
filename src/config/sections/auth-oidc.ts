/**
 * A part of the configuration, with defaults.
 * Generated from schemas/auth-oidc.json by `npx tsx scripts/docs.ts`.
 */
/** An OpenID Connect provider. */
export interface OIDCConfig {
  /** URL that the provider signs ID tokens with (the `iss` claim). Its configuration is discovered from there. */
  readonly issuerUrl?: string;
  /** Client that the tokens must be issued for. Only this one is trusted; the authorized-party claim is honoured. `$NAME` takes it from the environment. */
  readonly clientId?: string;
  /** Client secret that belongs to the client id. `$NAME` takes it from the environment. */
  readonly clientSecret?: string;
  /** Address that the provider redirects to after login: `https://<platform host>/auth/oidc/callback`. */
  readonly redirectURI?: string;
  /** Address that the provider redirects to after logout. */
  readonly postLogoutRedirectURI?: string;
  /** Path of a PEM file with the root certificate of the provider. */
  readonly caFile?: string;
  /** If true, the certificate of the provider is not verified. */
  readonly insecureCa?: boolean;
  /** Claim that holds the preferred user name. */
  readonly preferredUsername?: string;
  /** Claim that becomes the name of the user on the platform. */
  readonly platformUsernameClaim?: string;
  /** Claim that becomes the id of the user. */
  readonly usernameClaim?: string;
  /** Claim that holds the mail address. */
  readonly emailClaim?: string;
  /** Further claims to keep. */
  readonly allowedExtraClaims?: readonly string[];
  /** Put in front of user names that come from claims. */
  readonly usernamePrefix?: string;
  /** Claim that holds the groups: a text or a list of texts. */
  readonly groupsClaim?: string;
  /** If not empty, only members of at least one of these groups may sign in. */
  readonly groups?: readonly string[];
  /** Scopes to ask for. Empty means `email` and `profile`. */
  readonly scopes: readonly string[];
  /** If true, further data is read from the UserInfo endpoint. */
  readonly getUserInfo?: boolean;
  /** Put in front of group names that come from claims. */
  readonly groupsPrefix?: string;
  /** Label of the provider in the user interface; changes nothing else. */
  readonly type?: string;
  /** Value of the `resource` parameter of requests to the token endpoint. */
  readonly resource?: string;
}
