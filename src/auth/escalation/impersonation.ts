/**
 * A key must not have more rights than its writer (invariant 10). An object that lets its holder act as a
 * user or group may be written by that user, by members of that group, or with the verb `impersonate` of
 * Kubernetes on it (`users` and `groups` of the core group).
 */
import type { Authorizer, User } from '../../apimachinery/index.ts';
import type { ActingNames } from '../../kinds/index.ts';

/** Reason why the write is refused, as a sentence; undefined: it is not. */
export function impersonationRefusal(
  authorizer: Authorizer,
  user: User,
  names: ActingNames,
): string | undefined {
  const strangers = names.users.filter((name) => name !== user.name);
  const missing =
    strangers.find((name) => !mayImpersonate(authorizer, user, { resource: 'users', name })) ??
    names.groups
      .filter((name) => !user.groups.includes(name))
      .find((name) => !mayImpersonate(authorizer, user, { resource: 'groups', name }));
  if (missing === undefined) return undefined;
  return `User ${JSON.stringify(user.name)} cannot make or change a key that acts as ${JSON.stringify(missing)}: it takes the verb impersonate`;
}

function mayImpersonate(
  authorizer: Authorizer,
  user: User,
  of: { resource: 'users' | 'groups'; name: string },
): boolean {
  const attributes = { verb: 'impersonate', group: '', namespace: '', ...of };
  return authorizer.authorize(user, attributes).allowed;
}
