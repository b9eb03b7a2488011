/** Names of users and groups that only the platform itself gives out. */

export const PLATFORM_PREFIX = 'gitplane:';
const SYSTEM_PREFIX = 'system:';

export const USER_GROUP = `${PLATFORM_PREFIX}user:`;
export const TEAM_GROUP = `${PLATFORM_PREFIX}team:`;

export function userGroup(user: string): string {
  return USER_GROUP + user;
}

/** Also the user name of a request made with a key of the team. */
export function teamGroup(team: string): string {
  return TEAM_GROUP + team;
}

/** Groups that a claim or a key cannot bring along. */
export function isReservedGroup(group: string): boolean {
  return group.startsWith(SYSTEM_PREFIX) || group.startsWith(PLATFORM_PREFIX);
}

/**
 * Names that a generic subject may not have, and groups it may not bring: those of the system, of
 * users and of teams. The platform's other names, such as `gitplane:cluster:c1`, are for subjects.
 */
export function isReservedForOwners(name: string): boolean {
  return (
    name.startsWith(SYSTEM_PREFIX) || name.startsWith(USER_GROUP) || name.startsWith(TEAM_GROUP)
  );
}
