/** Accounts of the provider and their claims, read from users and teams for every token. */
import type { AccountClaims } from 'oidc-provider';

export interface Person {
  /** Name of the User object; `sub` for clients. */
  readonly name: string;
  readonly uid: string;
  readonly displayName: string | undefined;
  readonly email: string | undefined;
  /** Raising it on the User voids all tokens that were issued before. */
  readonly tokenGeneration: number;
  /** Groups of the identity, teams included. */
  readonly groups: readonly string[];
}

/** Session of a person in the requesting browser. */
export interface PersonSession {
  readonly person: string;
  /** Name of the session's access key. */
  readonly key: string;
  /** Milliseconds since the epoch. */
  readonly signedInAt: number;
  /** True if the key has all rights of the person. */
  readonly isWhole: boolean;
}

/** Claims of each scope. */
export const CLAIMS = {
  openid: ['sub'],
  profile: ['name', 'preferred_username'],
  email: ['email'],
  groups: ['groups'],
};

/**
 * Claims of a person. Mail addresses are not verified, so no claim says so. System groups are left out,
 * because they mean something else in clusters that are clients.
 */
export function claimsOf({ name, displayName, email, groups }: Person): AccountClaims {
  return {
    sub: name,
    name: displayName ?? name,
    preferred_username: name,
    ...(email === undefined ? {} : { email }),
    groups: groups.filter((group) => !group.startsWith('system:')),
  };
}
