/** Names of users and groups that only the platform assigns. */

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

/** Groups that a claim or a key cannot add. */
export function isReservedGroup(group: string): boolean {
  return group.startsWith(SYSTEM_PREFIX) || group.startsWith(PLATFORM_PREFIX);
}

/**
 * Names that a subject may not have, and groups that it may not bring: those of the system, of users and
 * of teams. Other names of the platform, such as `gitplane:cluster:c1`, are for subjects.
 */
export function isReservedForOwners(name: string): boolean {
  return (
    name.startsWith(SYSTEM_PREFIX) || name.startsWith(USER_GROUP) || name.startsWith(TEAM_GROUP)
  );
}
