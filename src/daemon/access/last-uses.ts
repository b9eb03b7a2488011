/** Last uses of access keys: `status.lastActivity` in the state store, never in git. */
import { type ObjectKey, rfc3339 } from '../../apimachinery/index.ts';
import type { KindTable } from '../../kinds/index.ts';
import { type Branch, recordActivity } from '../../registry/index.ts';
import type { Store } from '../../state/index.ts';

export interface UsesOptions {
  readonly kinds: KindTable;
  readonly store: Pick<Store, 'get'>;
  readonly branch: Pick<Branch, 'submit'>;
}

export async function saveActivity(
  options: UsesOptions,
  lastUse: ReadonlyMap<string, number>,
): Promise<void> {
  const [group = ''] = options.kinds.groups;
  const kind = options.kinds.byPlural(group, 'ownedaccesskeys')?.kind ?? '';
  const uses = [...lastUse];
  while (uses.length > 0) {
    const some = uses.splice(0, USES_AT_ONCE);
    await Promise.all(
      some.map(([name, time]) => saveUse(options, { group, kind, namespace: '', name }, time)),
    );
  }
}

/** Uses that share one batch of the write queue. A larger batch would delay writes of clients. */
const USES_AT_ONCE = 100;

async function saveUse(
  { branch, store }: UsesOptions,
  key: ObjectKey,
  time: number,
): Promise<void> {
  await branch.submit({
    key,
    prepare: () => {
      const found = store.get(key);
      if (found === undefined) return { do: 'nothing' };
      return { do: 'state', changes: [recordActivity(found, rfc3339(time))] };
    },
  });
}
