/**
 * Right to link a secret to a path of the secret store. The daemon reads and writes there with a token
 * that its users do not have, so a link that pulls is as powerful as reading, and one that pushes as
 * powerful as writing.
 */
import { type Authorizer, forbiddenError } from '../../apimachinery/index.ts';
import { DEFAULT_STORE, STORE_ANNOTATION, type StoreLink, storeLinkOf } from '../../kinds/index.ts';
import type { Advice, Guard } from '../../registry/index.ts';
import { mayPull, mayPush } from '../../secrets-merge/index.ts';

/** Location of a link as an API path, for the `nonResourceURLs` of roles. */
function apiPathOf({ store, mount, path }: StoreLink): string {
  const of = store === DEFAULT_STORE ? '' : `/stores/${store}`;
  return `/secret-store${of}/paths/${mount}/${path}`;
}

export function storeLinkGuard(authorizer: Authorizer): Guard {
  return ({ user, kind, object, old }) => {
    const link = object && storeLinkOf(kind, object);
    if (object === undefined || link === undefined) return undefined;
    const before = old && storeLinkOf(kind, old);
    if (before !== undefined && tie(before) === tie(link)) return undefined;
    const path = apiPathOf(link);
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

/** Warns when a secret names a store that is not configured: it may be configured later. */
export function storeLinkAdvice(stores: () => ReadonlyMap<string, unknown>): Advice {
  return (kind, object) => {
    const link = storeLinkOf(kind, object);
    if (link === undefined || link.store === DEFAULT_STORE || stores().has(link.store)) return [];
    const what = `there is no secret store ${JSON.stringify(link.store)} in the configuration`;
    return [
      `metadata.annotations[${STORE_ANNOTATION}]: ${what}; the secret is not synced until there is`,
    ];
  };
}

/** The conflict winner and the interval need no rights on the store. */
function tie({ resolution: _, intervalMs: _interval, ...link }: StoreLink): string {
  return JSON.stringify(link);
}
