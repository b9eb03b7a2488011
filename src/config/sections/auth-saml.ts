/**
 * A part of the configuration, with defaults.
 * Generated from schemas/auth-saml.json by `npx tsx scripts/docs.ts`.
 */
/** A SAML 2.0 identity provider. */
export interface SAMLConfig {
  /** Address that receives responses: `https://<platform host>/auth/saml/callback`. The Destination of a response must be exactly this. */
  readonly redirectURI?: string;
  /** Address that login requests are posted to. */
  readonly ssoURL?: string;
  /** Signing certificates of the provider, as base64 of PEM: several while it changes them. Exactly one of `caData`, `ca` and `insecureSkipSignatureValidation`. */
  readonly caData?: string;
  /** Path of a PEM file with the signing certificates of the provider. It is read at every login. */
  readonly ca?: string;
  /** If true, signatures are not verified. Any client can then sign in as any user. */
  readonly insecureSkipSignatureValidation?: boolean;
  /** Attribute that holds the user name. */
  readonly usernameAttr?: string;
  /** Attribute that holds the mail address. */
  readonly emailAttr?: string;
  /** Attribute that holds the groups. */
  readonly groupsAttr?: string;
  /** Issuer of login requests, and the audience that responses must name. Both are `redirectURI` if it is not set. */
  readonly entityIssuer?: string;
  /** Issuer that responses must name. */
  readonly ssoIssuer?: string;
  /** Separator of the groups in one text; white space around a group is removed. */
  readonly groupsDelim?: string;
  /** Only members of these groups get in. Needs `groupsAttr`. */
  readonly allowedGroups?: readonly string[];
  /** If true, only the groups in `allowedGroups` count. */
  readonly filterGroups?: boolean;
  /** Format of the NameID to ask for: a whole URI or its last part, as in `emailAddress`. */
  readonly nameIDPolicyFormat: string;
}
