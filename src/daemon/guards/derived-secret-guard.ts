/** An object that shows the data of another object takes the right to read that object. */
import { type Authorizer, describeKey, forbiddenError, sameKey } from '../../apimachinery/index.ts';
import type { KindTable } from '../../kinds/index.ts';
import type { Guard } from '../../registry/index.ts';

/** Checked when an object begins to follow a source. Later changes reveal nothing new. */
export function derivedSecretGuard({ kinds }: KindTable, authorizer: Authorizer): Guard {
  return ({ user, kind, object, old }) => {
    const source = object && kind.follows?.(object);
    if (object === undefined || source === undefined) return undefined;
    const before = old && kind.follows?.(old);
    if (before !== undefined && sameKey(before, source)) return undefined;
    const { group, namespace, name } = source;
    const plural = kinds.find((one) => one.group === group && one.kind === source.kind)?.plural;
    const attributes = { verb: 'get', group, resource: plural ?? '', namespace, name };
    if (authorizer.authorize(user, attributes).allowed) return undefined;
    const why = `user ${JSON.stringify(user.name)} cannot get ${describeKey(source)}, whose data it would show`;
    const { name: own = '' } = object.metadata;
    const message = `${kind.plural} ${JSON.stringify(own)} is forbidden: ${why}`;
    return forbiddenError(message, kind, own);
  };
}
