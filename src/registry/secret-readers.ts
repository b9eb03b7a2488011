/** Users who see the secrets of every object of a kind. */
import type { Authorizer, User } from '../apimachinery/index.ts';
import type { Kind } from '../kinds/index.ts';

/** `namespace`: empty for all of them. Some kinds show their secrets only to users who may write them. */
export function mayReadSecrets(
  authorizer: Authorizer,
  { group, plural: resource, forReaders }: Kind,
  { namespace, user }: { readonly namespace: string; readonly user: User },
): boolean {
  const may = (verb: string): boolean =>
    authorizer.authorize(user, { verb, group, resource, namespace, name: '' }).allowed;
  return may('get') && (forReaders === undefined || may('update') || may('patch'));
}
