/** Who signs in, and what clients are told of them: read from users and teams at every token. */
import type { AccountClaims } from 'oidc-provider';

export interface Person {
  /** Name of the User object; `sub` for clients. */
  readonly name: string;
  readonly uid: string;
  readonly displayName: string | undefined;
  readonly email: string | undefined;
  /** Raising it on the User voids what was given out before. */
  readonly tokenGeneration: number;
  /** Of the identity, teams included. */
  readonly groups: readonly string[];
}

/** A person who signed in here, in the browser that asks. */
export interface PersonSession {
  readonly person: string;
  /** Name of the access key behind it. */
  readonly key: string;
  /** Milliseconds since the epoch. */
  readonly signedInAt: number;
  /** Whether the key behind it holds everything that the person may do. */
  readonly isWhole: boolean;
}

/** The claims that each scope stands for. */
export const CLAIMS = {
  openid: ['sub'],
  profile: ['name', 'preferred_username'],
  email: ['email'],
  groups: ['groups'],
};

/**
 * Nobody verified the mail address, so that no claim says so. Groups of the system mean something
 * else in the clusters that clients may be.
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
