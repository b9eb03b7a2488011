/**
 * Interface of connectors, which sign users in through an identity provider (spec 2.8.1–2.8.7). A
 * connector sends the browser to its provider, and returns the identity when the browser comes back. It
 * knows no users, teams or keys, stores nothing between both steps, and has an immutable configuration.
 */
import type { JsonObject } from '../apimachinery/index.ts';
import type { ProviderHttp, ProviderTrust } from './provider-http.ts';

/** One sign-in attempt, from the click to the callback; single use, bound to one browser. */
export interface LoginTransaction {
  /** 256 random bits: `state` of OAuth, RelayState of SAML. */
  readonly state: string;
  /** Id of the AuthnRequest; an XML name, so it begins with `_`. */
  readonly requestId: string;
  readonly nonce: string;
  /** PKCE, RFC 7636: between 43 and 128 characters. */
  readonly codeVerifier: string;
  /** Redirect URI of the attempt. */
  readonly redirectUri: string;
  /** Unix time in ms. */
  readonly startedAt: number;
}

/** Redirect of the browser to the provider. */
export type ProviderRedirect =
  | { readonly kind: 'redirect'; readonly url: string }
  /** A form that submits itself. */
  | {
      readonly kind: 'post';
      readonly url: string;
      readonly fields: Readonly<Record<string, string>>;
    };

/** Callback of the browser. */
export interface Callback {
  /** Path with query. */
  readonly url: URL;
  /** Fields of a posted form; empty for GET. */
  readonly form: URLSearchParams;
}

/** Identity as the provider states it, before prefixes, filters and reserved names (spec 2.6). */
export interface ProvidedIdentity {
  /** Permanent and never reassigned: users are found by it. */
  readonly userId: string;
  readonly username: string;
  readonly preferredUsername?: string;
  /** Wanted name of the User object, from a configured claim. */
  readonly accountName?: string;
  readonly email?: string;
  readonly emailVerified: boolean;
  /** True if the configuration turns verification off; log and audit report it. */
  readonly isUnchecked?: true;
  readonly groups: readonly string[];
  readonly extraClaims: JsonObject;
  /** Data for a refresh (tokens of the provider); encrypted at rest, and in no response, log or event. */
  readonly connectorData?: JsonObject;
}

/**
 * Persists the data of an identity at once. Single-use tokens are replaced during a refresh, which may
 * fail later: the old tokens are void by then.
 */
export type KeepConnectorData = (connectorData: JsonObject) => Promise<void>;

export interface Connector {
  readonly id: string;
  /** Type in `/auth/info`: `oidc`, `providerA` … */
  readonly type: string;
  /** Method of the callback; others are refused. */
  readonly callbackMethod: 'GET' | 'POST';
  /** Prefixes that admission adds; the connector applies its own rules without them. */
  readonly prefixes?: NamePrefixes;
  /** Throws SignInError. */
  begin(transaction: LoginTransaction, signal: AbortSignal): Promise<ProviderRedirect>;
  /** Checks everything that its own block allows or forbids. Throws SignInError. */
  complete(
    transaction: LoginTransaction,
    callback: Callback,
    signal: AbortSignal,
  ): Promise<ProvidedIdentity>;
  /**
   * Asks the provider again. Throws SignInError: `isFinal` when access has ended, otherwise it is retried.
   * Absent: the provider cannot be asked, and the identity is valid until the key ends.
   */
  refresh?(
    known: ProvidedIdentity,
    signal: AbortSignal,
    keep: KeepConnectorData,
  ): Promise<ProvidedIdentity>;
  /** Sign-out page of the provider; undefined: it has none. */
  logoutUrl?(known: ProvidedIdentity | undefined): Promise<string | undefined>;
  /** Releases connections and threads. */
  close?(): Promise<void>;
}

/** Prefixes for names of a provider, which separate them from other names. */
export interface NamePrefixes {
  readonly username: string;
  readonly groups: string;
}

/** A provider without a redirect: users present a token of theirs (providerE). */
export interface TokenConnector extends Pick<Connector, 'id' | 'type' | 'refresh' | 'close'> {
  readonly callbackMethod: 'none';
  readonly prefixes?: NamePrefixes;
  /** Asks the provider for the user of a token, which is then dropped. Throws SignInError. */
  verify(token: string, signal: AbortSignal): Promise<ProvidedIdentity>;
}

export type AnyConnector = Connector | TokenConnector;

/** Context of connectors. */
export interface ConnectorContext {
  /** With scheme, without a trailing slash; callbacks are `{baseUrl}/auth/{id}/callback`. */
  readonly baseUrl: string;
  readonly clock: { now(): number };
  /** Warns the operator about a connector; never with a secret. */
  warn(message: string): void;
  /** HTTP client for providers instead of `providerHttp`, for tests. */
  readonly http?: (trust?: ProviderTrust) => ProviderHttp;
}
