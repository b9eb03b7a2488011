/** Admission by group membership. */
import { SignInError } from '../sign-in-error.ts';

/** Groups that are in the list; an empty list admits everyone. Throws SignInError if none is. */
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
