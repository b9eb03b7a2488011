/** Data of a secret with many copies may not grow beyond what one step can write, nor get more copies then. */
import {
  forbidden,
  invalidObject,
  type KubeObject,
  keyString,
  type ObjectKey,
} from '../../apimachinery/index.ts';
import type { KindTable } from '../../kinds/index.ts';
import { copiesProblem, dataSize, followersOf, type Guard } from '../../registry/index.ts';
import type { Store } from '../../state/index.ts';

type GuardStore = Pick<Store, 'list' | 'get' | 'resourceVersion'>;

/** A write that makes the data smaller is accepted in any case. */
export function copiedDataGuard(kinds: KindTable, store: GuardStore): Guard {
  const problemOf = (source: ObjectKey, bytes: number, added: number): string | undefined =>
    copiesProblem(source, bytes, followersOf(kinds, store, { source, bytes, added }));

  return ({ kind, object, old }) => {
    if (object === undefined) return undefined;
    const { namespace = '', name = '' } = object.metadata;
    const bytes = dataSize(object);
    const own: ObjectKey = { group: kind.group, kind: kind.kind, namespace, name };
    const grown = bytes > dataSize(old) ? problemOf(own, bytes, 0) : undefined;
    if (grown !== undefined) return invalidObject(kind, name, [forbidden(['spec', 'data'], grown)]);
    const source = newSource(kind.follows, object, old);
    if (source === undefined) return undefined;
    const followed = problemOf(source, dataSize(store.get(source)?.object), 1);
    if (followed === undefined) return undefined;
    return invalidObject(kind, name, [forbidden(['metadata', 'labels'], followed)]);
  };
}

/** The source that an object follows, and did not follow before. */
function newSource(
  follows: ((object: KubeObject) => ObjectKey | undefined) | undefined,
  object: KubeObject,
  old: KubeObject | undefined,
): ObjectKey | undefined {
  const source = follows?.(object);
  const former = old && follows?.(old);
  return source && former && keyString(source) === keyString(former) ? undefined : source;
}
