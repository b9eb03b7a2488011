/**
 * What signing in needs of the platform: users, teams and keys. Who may be let in is decided in this
 * folder; how it is written down is not.
 */
import type { JsonObject } from '../apimachinery/index.ts';
import type { ProvidedIdentity } from './connector.ts';

/** An identity that may come in, as the platform takes it: prefixed, filtered, in one form. */
export interface AdmittedIdentity {
  readonly connector: string;
  /** With the connector, what users are found by; the provider's own bytes. */
  readonly userId: string;
  readonly username: string;
  readonly preferredUsername?: string;
  readonly email?: string;
  readonly emailVerified: boolean;
  /** Those that are saved: none reserved, none twice, in order. */
  readonly groups: readonly string[];
  readonly extraClaims: JsonObject;
  /** What a User object for it is called, before it is made a name of an object. */
  readonly accountName: string;
  /** As the connector said it, for the next refresh. */
  readonly provided: ProvidedIdentity;
}

/** A key that acts as a user, with the text that is shown once. */
export interface LoginKey {
  readonly name: string;
  readonly key: string;
  /** Name of the User. */
  readonly user: string;
}

export interface NewLoginKey {
  /** Name of the User. */
  readonly user: string;
  /** For whoever lists keys: `Browser, signed in with oidc`. */
  readonly displayName: string;
  readonly description?: string | undefined;
  /** Absent: nobody else vouches for the user, as with a password. */
  readonly identity?: AdmittedIdentity | undefined;
  /** Who asked, for the commits that it takes. */
  readonly requestId?: string | undefined;
}

export interface Accounts {
  /**
   * Finds or makes the user of an identity, takes over its groups, makes teams for groups that have
   * none, all as far as the configuration lets it, and returns the name of the User. Throws
   * SignInError: 403 for who may not come in, 503 while nothing can be written.
   */
  enter(identity: AdmittedIdentity, requestId?: string): Promise<string>;
  /** Makes a login key. Throws SignInError 403 for a user that is disabled or gone. */
  mint(key: NewLoginKey): Promise<LoginKey>;
  /** Deletes a login key by its name; of any other key, and of one that is gone, nothing. */
  revoke(name: string): Promise<void>;
  /** Whether a key was made by signing in: it is then all that its user is. */
  isLogin(keyName: string): boolean;
  /** What a login key was made from; undefined for keys without. */
  identityOf(keyName: string): PersistedIdentity | undefined;
  /** When the provider was last asked about the identity of a key; undefined for keys without. */
  refreshedAt(keyName: string): number | undefined;
  /**
   * The key to ask the provider about when a key is used: itself, or the newest login of its user
   * where it is a key that people made for themselves. Undefined: there is none.
   */
  identityToRefresh(keyName: string): (PersistedIdentity & { readonly name: string }) | undefined;
  /** Saves what the connector needs for the next refresh. */
  keep(keyName: string, provided: ProvidedIdentity): Promise<void>;
  /**
   * Takes over what the provider says now; with `isNews` for the user as well. Throws SignInError, as
   * `enter` does, and makes no user.
   */
  refresh(keyName: string, identity: AdmittedIdentity, isNews: boolean): Promise<void>;
  /** The provider does not vouch for the identity any more: deletes the key and the groups. */
  end(keyName: string): Promise<void>;
}

export interface PersistedIdentity {
  readonly connector: string;
  readonly provided: ProvidedIdentity;
}
