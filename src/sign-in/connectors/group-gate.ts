/** Who gets in for a group. */
import { SignInError } from '../sign-in-error.ts';

/** Those of the groups that are listed. An empty list lets everybody in; otherwise throws SignInError for none. */
export function listedGroups(groups: readonly string[], listed: readonly string[]): string[] {
  const wanted = new Set(listed);
  const found = groups.filter((group) => wanted.has(group));
  if (listed.length > 0 && found.length === 0) throw notAMember();
  return found;
}

export function notAMember(): SignInError {
  return new SignInError('the account is in none of the groups that may sign in', {
    reason: 'not-a-member',
    code: 403,
  });
}
