/** Rights that objects grant by `spec.owner` and `spec.access`, read from the current objects. */
import type { User } from '../../apimachinery/index.ts';
import type { AccessSource, ObjectName } from '../../auth/index.ts';
import { accessGrants, type KindTable, namesInAccess } from '../../kinds/index.ts';
import type { Store } from '../../state/index.ts';

/** A request costs one look-up, whatever the number of objects. */
export function objectAccess(kinds: KindTable, store: Pick<Store, 'get' | 'list'>): AccessSource {
  return {
    on: ({ group, resource, namespace, name }) => {
      const kind = kinds.byPlural(group, resource);
      if (kind?.hasAccessRules !== true) return [];
      const stored = store.get({ group: kind.group, kind: kind.kind, namespace, name });
      return stored === undefined ? [] : accessGrants(kind, stored.object);
    },
    naming: (user) => naming({ kinds, store }, user),
  };
}

function* naming(
  { kinds, store }: { kinds: KindTable; store: Pick<Store, 'list'> },
  { name: user, groups }: User,
): IterableIterator<ObjectName> {
  const wanted = new Set([...groups, ...(user === '' ? [] : [user])]);
  for (const kind of kinds.kinds.filter(({ hasAccessRules }) => hasAccessRules)) {
    for (const { key, object } of store.list({ group: kind.group, kind: kind.kind }).items) {
      if (!namesInAccess(object).some((one) => wanted.has(one))) continue;
      const { group, namespace, name } = key;
      yield { group, resource: kind.plural, namespace, name };
    }
  }
}
