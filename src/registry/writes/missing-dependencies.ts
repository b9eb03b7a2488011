/**
 * Warnings about references to missing objects. Such objects are accepted, since the others may
 * come later: the manifests of one folder are applied in any order.
 */
import {
  describeKey,
  flatMapYielding,
  type KubeObject,
  keyString,
  type ObjectKey,
  shownPath,
  type User,
  withoutValues,
} from '../../apimachinery/index.ts';
import { encryptedValuesOf, type ObjectChange } from '../../catalog/index.ts';
import type { Kind } from '../../kinds/index.ts';
import type { WriteParts } from './write-context.ts';

type Parts = Pick<WriteParts, 'kinds' | 'advice' | 'authorizer'> & {
  readonly store: Pick<WriteParts['store'], 'get'>;
};
type Exists = (key: ObjectKey) => boolean;

export function missingDependencies(
  parts: Parts,
  { kind, object, user }: { kind: Kind; object: KubeObject; user: User },
): string[] {
  const exists: Exists = (key) => parts.store.get(key) !== undefined;
  return missing(parts, { kind, object, exists, user });
}

/**
 * The same for every change of a push, one line each with its place, judged on the result of the
 * push. Yields to the event loop.
 */
export async function missingAfterPush(
  parts: Parts,
  changes: readonly ObjectChange[],
  user: User,
): Promise<string[]> {
  const { kinds, store, advice } = parts;
  let after: Map<string, boolean> | undefined;
  const exists: Exists = (key) => {
    after ??= new Map(changes.map((one) => [keyString(one.key), one.after !== undefined]));
    return after.get(keyString(key)) ?? store.get(key) !== undefined;
  };
  return await flatMapYielding(changes, (change) => {
    const { key, after: made } = change;
    const kind = kinds.byKey(key);
    if (made === undefined || kind === undefined) return [];
    if (kind.dependsOn === undefined && advice === undefined) return [];
    const place = shownPath(made.place.path);
    const object = made.manifest;
    const texts = missing(parts, { kind, object, exists, user, pushed: changes });
    const values = encryptedValuesOf(change);
    return texts.map((text) => `${place}: ${describeKey(key)}: ${withoutValues(text, values)}`);
  });
}

function missing(
  { kinds, advice, authorizer }: Parts,
  of: {
    kind: Kind;
    object: KubeObject;
    exists: Exists;
    user: User;
    pushed?: readonly ObjectChange[];
  },
): string[] {
  const { kind, object, exists, user, pushed } = of;
  const absent = (kind.dependsOn?.(object) ?? []).flatMap(
    ({ path, group = kind.group, plural = '', kind: named, namespace, name, effect }) => {
      const wanted =
        named === undefined ? kinds.byPlural(group, plural) : kinds.byKey({ group, kind: named });
      const place = path.join('.');
      if (wanted === undefined) {
        const what = `${named} of the group ${JSON.stringify(group)}`;
        return named === undefined ? [] : [`${place}: the platform keeps no ${what}; ${effect}`];
      }
      const key = { group, kind: wanted.kind, namespace: namespace ?? '', name };
      const asked = { verb: 'get', group, resource: wanted.plural, namespace: key.namespace, name };
      // A secret that the writer may not see gets the same warning as a missing one.
      const isShown = named === undefined || authorizer?.authorize(user, asked).allowed !== false;
      if (isShown && exists(key)) return [];
      const where = namespace === undefined ? '' : ` in the namespace ${JSON.stringify(namespace)}`;
      const seen = named === undefined ? '' : ' that you may read';
      return [
        `${place}: there is no ${wanted.singular} ${JSON.stringify(name)}${where}${seen}; ${effect}`,
      ];
    },
  );
  return [...absent, ...(advice?.(kind, object, pushed) ?? [])];
}
