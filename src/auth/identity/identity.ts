/**
 * User of a request with an access key, resolved from the current users and teams, never stored in the
 * key.
 *
 * - A key of a user is that user: its groups, `gitplane:user:<user>`, one `gitplane:team:<team>` per
 *   team, and `spec.groups` of the key.
 * - A key of a team is the team itself: user name and group `gitplane:team:<team>`.
 * - A key of a subject is that subject with the groups of the key.
 *
 * `spec.groups` of a key cannot widen it (invariant 10): it adds no reserved name (`system:…`,
 * `gitplane:…`) to a user or team, since members already have these groups by the User or Team object. A
 * subject may bring groups such as `gitplane:cluster:…`, but none of the system, of a user or of a team.
 * `system:masters` therefore comes only from `spec.groups` of a User.
 */
import { AUTHENTICATED_GROUP, type User } from '../../apimachinery/index.ts';
import type { Directory } from './directory.ts';
import { isReservedForOwners, isReservedGroup, teamGroup, userGroup } from './reserved-names.ts';

/** Owner of a key: exactly one of user, team and subject. */
export interface KeyOwner {
  /** Name of the OwnedAccessKey object. */
  readonly key: string;
  readonly user: string | undefined;
  readonly team: string | undefined;
  readonly subject: string | undefined;
  readonly groups: readonly string[];
  /** Uid of the user or team at the creation of the key; undefined: it did not exist yet. */
  readonly ownerUid: string | undefined;
}

/** Object behind the user of a request. */
export interface IdentityOwner {
  readonly kind: 'User' | 'Team' | 'Subject';
  readonly name: string;
  /** Token generation: raising it on the User voids endpoint tokens; 0 for teams and subjects. */
  readonly generation: number;
}

/** The user of a request, or the reason why the owner of the key cannot make one. */
export type Identity =
  | { readonly user: User; readonly owner: IdentityOwner }
  | { readonly reason: OwnerProblem; readonly message: string };

export type OwnerProblem = 'owner-missing' | 'owner-replaced' | 'owner-disabled';

export function resolveIdentity(owner: KeyOwner, directory: Directory): Identity {
  const { user, team, subject } = owner;
  const owners = [user, team, subject].filter((name) => name !== undefined);
  if (owners.length !== 1) {
    return missing('access key must be for exactly one of user, team and subject');
  }
  if (user !== undefined) return userIdentity(user, owner, directory);
  if (team !== undefined) return teamIdentity(team, owner, directory);
  return subjectIdentity(subject ?? '', owner, directory);
}

function userIdentity(name: string, owner: KeyOwner, directory: Directory): Identity {
  const user = directory.user(name);
  if (user === undefined) return missing('the user of this access key does not exist');
  if (user.uid !== owner.ownerUid) return replaced('user');
  if (user.disabled) {
    return { reason: 'owner-disabled', message: 'the user of this access key is disabled' };
  }
  const groups = [
    AUTHENTICATED_GROUP,
    userGroup(name),
    ...directory.teamsOf(user).map(teamGroup),
    ...user.groups,
    ...owner.groups.filter((group) => !isReservedGroup(group)),
  ];
  const of = { kind: 'User', name, generation: user.tokenGeneration } as const;
  return request(owner.key, { name, uid: user.uid, email: user.email, groups, of });
}

function teamIdentity(name: string, owner: KeyOwner, directory: Directory): Identity {
  const team = directory.team(name);
  if (team === undefined) return missing('the team of this access key does not exist');
  if (team.uid !== owner.ownerUid) return replaced('team');
  const added = owner.groups.filter((group) => !isReservedGroup(group));
  const groups = [AUTHENTICATED_GROUP, teamGroup(name), ...added];
  const of = { kind: 'Team', name, generation: 0 } as const;
  return request(owner.key, { name: teamGroup(name), uid: team.uid, groups, of });
}

/** A subject with the name of a user would outlive that user, and bypass disabling it. */
function subjectIdentity(name: string, owner: KeyOwner, directory: Directory): Identity {
  if (name === '' || isReservedForOwners(name)) {
    return missing('the subject of this access key is a reserved name');
  }
  if (directory.user(name) !== undefined) {
    return missing('the subject of this access key is the name of a user; set spec.user instead');
  }
  const added = owner.groups.filter((group) => !isReservedForOwners(group));
  const of = { kind: 'Subject', name, generation: 0 } as const;
  return request(owner.key, { name, groups: [AUTHENTICATED_GROUP, ...added], of });
}

interface Found {
  readonly name: string;
  readonly uid?: string | undefined;
  readonly email?: string | undefined;
  readonly groups: readonly string[];
  readonly of: IdentityOwner;
}

function request(accessKey: string, { name, uid, email, groups, of }: Found): Identity {
  const user: User = {
    name,
    groups: [...new Set(groups)],
    accessKey,
    ...(uid === undefined ? {} : { uid }),
    ...(email === undefined ? {} : { email }),
  };
  return { user, owner: of };
}

/** Another user now has the name: the key must not work for that user. */
function replaced(what: string): Identity {
  const message = `the ${what} that this access key was made for is gone, and another one has its name; make a new key`;
  return { reason: 'owner-replaced', message };
}

function missing(message: string): Identity {
  return { reason: 'owner-missing', message };
}
