/** Objects of a team: the team itself, and those that it owns at present. */
import type { ObjectKey } from '../../apimachinery/index.ts';
import { ownerOf } from '../../kinds/index.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { ObjectIndex } from '../overview/object-index.ts';

/** The team that owns each object. */
export type OwnerIndex = ObjectIndex<string>;

/** Most objects have no owner and are not parsed. */
const MARK = Buffer.from('"owner":{');

export function ownerIndex({ kinds, store }: ServerDependencies): OwnerIndex {
  return new ObjectIndex({
    kinds: kinds.kinds.filter(({ verbs }) => verbs.includes('list')),
    store,
    factsOf: (_kind, stored) =>
      stored.json().includes(MARK) ? ownerOf(stored.object).team : undefined,
  });
}

export async function ownedBy(
  { kinds }: ServerDependencies,
  owners: OwnerIndex,
  team: string,
): Promise<readonly ObjectKey[]> {
  const [group = ''] = kinds.groups;
  const itself = { group, kind: 'Team', namespace: '', name: team };
  const owned = [...(await owners.kinds()).values()].flatMap((entries) =>
    [...entries.values()].flatMap(({ key, facts }) => (facts === team ? [key] : [])),
  );
  return [itself, ...owned];
}
