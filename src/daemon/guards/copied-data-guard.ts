/** Data of a secret with many copies may not grow beyond what one step can write, nor get more copies then. */
import { forbidden, invalidObject, type ObjectKey } from '../../apimachinery/index.ts';
import type { KindTable } from '../../kinds/index.ts';
import { copiesProblemWith, dataSize, type Guard, newSource } from '../../registry/index.ts';
import type { Store } from '../../state/index.ts';

type GuardStore = Pick<Store, 'list' | 'get' | 'resourceVersion'>;

/** A write that makes the data smaller is accepted in any case. */
export function copiedDataGuard(kinds: KindTable, store: GuardStore): Guard {
  return ({ kind, object, old, inFlight }) => {
    if (object === undefined) return undefined;
    const { namespace = '', name = '' } = object.metadata;
    const problemOf = (source: ObjectKey, bytes: number, added: number): string | undefined =>
      copiesProblemWith(inFlight?.() ?? [], kinds, store, { source, bytes, added });
    const bytes = dataSize(object);
    const own: ObjectKey = { group: kind.group, kind: kind.kind, namespace, name };
    const grown = bytes > dataSize(old) ? problemOf(own, bytes, 0) : undefined;
    if (grown !== undefined) return invalidObject(kind, name, [forbidden(['spec', 'data'], grown)]);
    const source = newSource(kind, object, old);
    if (source === undefined) return undefined;
    const followed = problemOf(source, dataSize(store.get(source)?.object), 1);
    if (followed === undefined) return undefined;
    return invalidObject(kind, name, [forbidden(['metadata', 'labels'], followed)]);
  };
}
