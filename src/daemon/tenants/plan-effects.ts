/** Effects of a plan on synced objects, for users who may list the objects in the tenant cluster. */
import type { User } from '../../apimachinery/index.ts';
import type { ComputeEffects, PlanEffects } from '../../history/index.ts';
import { ENDPOINTS, type Kind, SERVICE, type TenantChange } from '../../kinds/index.ts';
import type { ClusterRoots } from '../../server/index.ts';
import type { TenantLoops } from './tenant-loops.ts';

/** Time limit for all tenants of a plan. */
const LONGEST_MS = 10_000;
const NOTHING = { objects: 0, changed: 0, items: [], unseen: 0, warnings: [] } as const;

export function planEffects(of: {
  readonly loops: Pick<TenantLoops, 'effects'>;
  readonly clusters: ClusterRoots;
  /** `/kubernetes`. */
  readonly prefix: string;
}): (user: User | undefined) => ComputeEffects {
  const { loops, clusters, prefix } = of;
  return (user) => {
    const end = performance.now() + LONGEST_MS;
    return async (change) => {
      if (performance.now() > end) return unknown('computing them would have taken too long');
      return await effects(change, user);
    };
  };

  async function effects(change: TenantChange, user: User | undefined): Promise<PlanEffects> {
    const door = clusters.find(`${prefix}/virtualcluster/${change.name}`)?.authorizer;
    const mayList = ({ group, plural: resource }: Kind): boolean => {
      const right = { verb: 'list', group, resource, namespace: '', name: '' };
      return user !== undefined && door?.authorize(user, right).allowed === true;
    };
    if (door !== undefined && ![ENDPOINTS, SERVICE].every(mayList)) {
      return unknown(`it takes "list" on tenants/cluster ${JSON.stringify(change.name)}`);
    }
    const found = await loops.effects(change);
    return found ?? unknown('the objects of the tenant are not known: its sync does not run');
  }
}

function unknown(why: string): PlanEffects {
  return { ...NOTHING, unknown: why };
}
