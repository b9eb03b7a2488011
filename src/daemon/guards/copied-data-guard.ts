/** Data of a secret with many copies may not grow beyond what one step can write. */
import { forbidden, invalidObject, type ObjectKey } from '../../apimachinery/index.ts';
import type { KindTable } from '../../kinds/index.ts';
import { copiesProblem, dataSize, followersOf, type Guard } from '../../registry/index.ts';
import type { Store } from '../../state/index.ts';

/** A write that makes the data smaller is accepted in any case. */
export function copiedDataGuard(kinds: KindTable, store: Pick<Store, 'list'>): Guard {
  return ({ kind, object, old }) => {
    const bytes = dataSize(object);
    if (object === undefined || bytes <= dataSize(old)) return undefined;
    const { namespace = '', name = '' } = object.metadata;
    const source: ObjectKey = { group: kind.group, kind: kind.kind, namespace, name };
    const problem = copiesProblem(source, bytes, followersOf(kinds, store, { source, bytes }));
    if (problem === undefined) return undefined;
    return invalidObject(kind, name, [forbidden(['spec', 'data'], problem)]);
  };
}
