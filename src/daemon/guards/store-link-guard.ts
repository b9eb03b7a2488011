/**
 * Who may tie a secret to a path of the secret store: the daemon reads and writes there with a
 * token that its users do not have, so tying is as much as reading, and pushing as much as writing.
 */
import type { Authorizer } from '../../apimachinery/request.ts';
import { forbiddenError } from '../../apimachinery/status-error.ts';
import { type StoreLink, storeLinkOf } from '../../kinds/store-link.ts';
import type { Guard } from '../../registry/write-context.ts';
import { mayPull, mayPush } from '../../secretsync/policy.ts';

/** Paths of the store as paths of the API, for the rules of roles: `nonResourceURLs`. */
const PATHS = '/secret-store/paths';

export function storeLinkGuard(authorizer: Authorizer): Guard {
  return ({ user, kind, object, old }) => {
    const link = object && storeLinkOf(kind, object);
    if (object === undefined || link === undefined) return undefined;
    const before = old && storeLinkOf(kind, old);
    if (before !== undefined && tie(before) === tie(link)) return undefined;
    const path = `${PATHS}/${link.mount}/${link.path}`;
    const verbs = [
      ...(mayPull(link.policy) ? ['get'] : []),
      ...(mayPush(link.policy) ? ['update'] : []),
    ];
    const lacking = verbs.find((verb) => !authorizer.authorize(user, { verb, path }).allowed);
    if (lacking === undefined) return undefined;
    const { name = '' } = object.metadata;
    return forbiddenError(
      `${kind.plural}.${kind.group} ${JSON.stringify(name)} is forbidden: User ${JSON.stringify(user.name)} cannot ${lacking} path ${JSON.stringify(path)}, which its annotations tie it to`,
      kind,
      name,
    );
  };
}

/** The winner of a conflict and the interval are no matter of rights on the store. */
function tie({ resolution: _, intervalMs: _interval, ...link }: StoreLink): string {
  return JSON.stringify(link);
}
