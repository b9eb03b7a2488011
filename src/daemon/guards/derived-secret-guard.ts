/** An object that shows the data of another object takes the right to read that object. */
import { type Authorizer, describeKey, forbiddenError, sameKey } from '../../apimachinery/index.ts';
import type { KindTable } from '../../kinds/index.ts';
import type { Guard } from '../../registry/index.ts';
import type { Store } from '../../state/index.ts';

/**
 * Checked when an object begins to follow a life of a source. Later changes reveal nothing new. A source that is
 * not there, or is being deleted, takes the right to every name: its next life may be anybody's.
 */
export function derivedSecretGuard(
  { kinds }: KindTable,
  { authorizer, store }: { readonly authorizer: Authorizer; readonly store: Pick<Store, 'get'> },
): Guard {
  return ({ user, kind, object, old, following }) => {
    const source = object && kind.follows?.(object);
    if (object === undefined || source === undefined) return undefined;
    const before = old && kind.follows?.(old);
    const isSame = before !== undefined && sameKey(before, source);
    if (!(following?.begins ?? !isSame)) return undefined;
    const { group, namespace } = source;
    const plural = kinds.find((one) => one.group === group && one.kind === source.kind)?.plural;
    const living = store.get(source);
    const isThere = following?.hasSource ?? (living !== undefined && !living.terminating);
    const name = isThere ? source.name : '';
    const attributes = { verb: 'get', group, resource: plural ?? '', namespace, name };
    if (authorizer.authorize(user, attributes).allowed) return undefined;
    // The same words in both cases: the user must not learn whether the source exists.
    const why = `user ${JSON.stringify(user.name)} cannot get ${describeKey(source)}, whose data it would show; if it does not exist, this takes the right to get every one of the ${plural} there`;
    const { name: own = '' } = object.metadata;
    const message = `${kind.plural} ${JSON.stringify(own)} is forbidden: ${why}`;
    return forbiddenError(message, kind, own);
  };
}
