/**
 * Accounts of the platform, as sign-in uses them: users, teams and keys. This folder decides who may sign
 * in; an implementation of `Accounts` writes the objects.
 */
import type { JsonObject } from '../apimachinery/index.ts';
import type { ProvidedIdentity } from './connector.ts';

/** An admitted identity: prefixed, filtered, normalised. */
export interface AdmittedIdentity {
  readonly connector: string;
  /** Identifies the user together with the connector; unchanged from the provider. */
  readonly userId: string;
  readonly username: string;
  readonly preferredUsername?: string;
  readonly email?: string;
  readonly emailVerified: boolean;
  /** Groups to save: none reserved, no duplicates, sorted. */
  readonly groups: readonly string[];
  readonly extraClaims: JsonObject;
  /** Wanted name of the User object, before it is converted to an object name. */
  readonly accountName: string;
  /** Identity as the connector returned it, for the next refresh. */
  readonly provided: ProvidedIdentity;
}

/** A key that acts as a user, with its text, which is shown once. */
export interface LoginKey {
  readonly name: string;
  readonly key: string;
  /** Name of the User. */
  readonly user: string;
}

export interface NewLoginKey {
  /** Name of the User. */
  readonly user: string;
  /** Shown in lists of keys: `Browser, signed in with oidc`. */
  readonly displayName: string;
  readonly description?: string | undefined;
  /** Absent for a password, which no provider vouches for. */
  readonly identity?: AdmittedIdentity | undefined;
  /** Name of the login key whose holder approved this one. */
  readonly approvedBy?: string | undefined;
  /** Id of the request, for the commits. */
  readonly requestId?: string | undefined;
}

export interface Accounts {
  /**
   * Finds or creates the user of an identity, updates its groups, and creates teams for groups without one,
   * as far as the configuration allows it. Returns the name of the User. Throws SignInError: 403 if the
   * identity may not sign in, 503 if the write fails.
   */
  enter(identity: AdmittedIdentity, requestId?: string): Promise<string>;
  /**
   * Makes a login key. Throws SignInError 403 for a user that is disabled or gone, also if that happened while
   * the key was written, or if the key `approvedBy` or the password of the user ended meanwhile.
   */
  mint(key: NewLoginKey): Promise<LoginKey>;
  /** Deletes a login key. Does nothing for any other key, or for one that is gone. */
  revoke(name: string): Promise<void>;
  /** True for a login key without a scope, which has all rights of its user. */
  isLogin(keyName: string): boolean;
  /** Identity that a login key was made from; undefined for other keys. */
  identityOf(keyName: string): PersistedIdentity | undefined;
  /** Time of the last refresh of a key's identity; undefined for keys without one. */
  refreshedAt(keyName: string): number | undefined;
  /**
   * The key whose identity is refreshed when a key is used: the key itself, or the newest login of its user
   * if a user made the key. Undefined: there is none.
   */
  identityToRefresh(keyName: string): (PersistedIdentity & { readonly name: string }) | undefined;
  /** Persists the data that the connector needs for the next refresh. */
  keep(keyName: string, provided: ProvidedIdentity): Promise<void>;
  /**
   * Writes a refreshed identity to the key; with `isNews` to the user as well. Throws SignInError, as `enter`
   * does, and creates no user.
   */
  refresh(keyName: string, identity: AdmittedIdentity, isNews: boolean): Promise<void>;
  /** Deletes key and groups after the provider stopped vouching for the identity. */
  end(keyName: string): Promise<void>;
}

export interface PersistedIdentity {
  readonly connector: string;
  readonly provided: ProvidedIdentity;
}
