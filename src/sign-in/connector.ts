/**
 * What every way to sign in through somebody else is made of (spec 2.8.1–2.8.7): a connector sends
 * the browser to its provider and, when it comes back, says who it was. It knows nothing of users,
 * teams and keys, keeps nothing between the two steps, and reads the configuration it was made with.
 */
import type { JsonObject } from '../apimachinery/index.ts';
import type { ProviderHttp, ProviderTrust } from './provider-http.ts';

/** One attempt to sign in, from the click to the callback; single use, and bound to one browser. */
export interface LoginTransaction {
  /** 256 random bits: `state` of OAuth, RelayState of SAML. */
  readonly state: string;
  /** Id of the AuthnRequest; an XML name, so it begins with `_`. */
  readonly requestId: string;
  readonly nonce: string;
  /** PKCE, RFC 7636: between 43 and 128 characters. */
  readonly codeVerifier: string;
  /** Where the provider sends the browser back to. */
  readonly redirectUri: string;
  /** Unix time in ms. */
  readonly startedAt: number;
}

/** How the browser gets to the provider. */
export type SendOff =
  | { readonly kind: 'redirect'; readonly url: string }
  /** A form that submits itself. */
  | {
      readonly kind: 'post';
      readonly url: string;
      readonly fields: Readonly<Record<string, string>>;
    };

/** What the browser brought back. */
export interface Callback {
  /** With its query. */
  readonly url: URL;
  /** Fields of a posted form; empty for GET. */
  readonly form: URLSearchParams;
}

/** Who the provider says it was: its own words, before prefixes, filters and reserved names (spec 2.6). */
export interface ProvidedIdentity {
  /** Never changes and is never given to somebody else: users are found by it. */
  readonly userId: string;
  readonly username: string;
  readonly preferredUsername?: string;
  /** What the User object is to be called, where the configuration names a claim for it. */
  readonly accountName?: string;
  readonly email?: string;
  readonly emailVerified: boolean;
  /** Nobody checked that the provider said it, since the configuration says so; log and audit tell. */
  readonly isUnchecked?: true;
  readonly groups: readonly string[];
  readonly extraClaims: JsonObject;
  /** What a refresh needs (tokens of the provider); sealed at rest, and in no answer, log or event. */
  readonly connectorData?: JsonObject;
}

/**
 * Keeps the data of an identity at once, in the place of what it had. Tokens that may be used once
 * are replaced while a refresh goes on, and the rest of it can fail: the old ones are void by then.
 */
export type KeepConnectorData = (connectorData: JsonObject) => Promise<void>;

export interface Connector {
  readonly id: string;
  /** `oidc`, `providerA` … as `/auth/info` says it. */
  readonly type: string;
  /** The method of the callback; the other one is refused. */
  readonly callbackMethod: 'GET' | 'POST';
  /** Put in front of names by whoever lets the identity in; the connector judges without them. */
  readonly prefixes?: NamePrefixes;
  /** Throws SignInError. */
  begin(transaction: LoginTransaction, signal: AbortSignal): Promise<SendOff>;
  /** Checks everything that its own block allows or forbids. Throws SignInError. */
  complete(
    transaction: LoginTransaction,
    callback: Callback,
    signal: AbortSignal,
  ): Promise<ProvidedIdentity>;
  /**
   * Asks the provider again. Throws SignInError: `isFinal` when access is over, else it is tried
   * later. Absent: this provider cannot be asked, the identity holds until the key ends.
   */
  refresh?(
    known: ProvidedIdentity,
    signal: AbortSignal,
    keep: KeepConnectorData,
  ): Promise<ProvidedIdentity>;
  /** Where the browser signs out at the provider; undefined when that is nowhere. */
  logoutUrl?(known: ProvidedIdentity | undefined): Promise<string | undefined>;
  /** Releases connections and threads. */
  close?(): Promise<void>;
}

/** Texts in front of what a provider says, so that its names cannot be taken for others. */
export interface NamePrefixes {
  readonly username: string;
  readonly groups: string;
}

/** A provider that nobody is sent to: people bring a token of theirs (providerE). */
export interface TokenConnector extends Pick<Connector, 'id' | 'type' | 'refresh' | 'close'> {
  readonly callbackMethod: 'none';
  readonly prefixes?: NamePrefixes;
  /** Asks the provider whose token it is, and forgets it. Throws SignInError. */
  verify(token: string, signal: AbortSignal): Promise<ProvidedIdentity>;
}

export type AnyConnector = Connector | TokenConnector;

/** What connectors are built with. */
export interface ConnectorContext {
  /** With scheme, without a slash at the end; callbacks are `{baseUrl}/auth/{id}/callback`. */
  readonly baseUrl: string;
  readonly clock: { now(): number };
  /** What an operator should know of a connector; never a secret. */
  warn(message: string): void;
  /** How providers are reached, if not as `providerHttp` does. Tests lead it to servers of their own. */
  readonly http?: (trust?: ProviderTrust) => ProviderHttp;
}
