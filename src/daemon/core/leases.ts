/**
 * Leases of clients: state that is in no commit, and so beside what is in the clusters that are served
 * here, in a part of its own (decision 61). Nothing is opened before somebody asks.
 */
import type { Clock } from '../../apimachinery/clock.ts';
import { forbiddenError, tooLarge } from '../../apimachinery/status-error.ts';
import { LEASE, LEASE_KINDS } from '../../kinds/lease.ts';
import { ClusterRegistry, withoutGeneration } from '../../registry/cluster-registry.ts';
import type { Guard } from '../../registry/write-context.ts';
import type { ServerDependencies } from '../../server/dependencies.ts';
import type { StorePart } from '../../state/store-part.ts';
import type { Clusters } from '../tenants/clusters.ts';

export interface LeaseLimits {
  readonly leases: number;
  readonly inNamespace: number;
  /** JSON bytes of one. */
  readonly bytes: number;
}

const LIMITS: LeaseLimits = { leases: 5000, inNamespace: 1000, bytes: 16 * 1024 };
const PART = 'leases';

export interface LeasesOptions {
  readonly clusters: Pick<Clusters, 'part'>;
  readonly clock: Clock;
  readonly limits?: LeaseLimits;
}

export function serveLeases(options: LeasesOptions): ServerDependencies['leases'] {
  const { clusters, clock, limits = LIMITS } = options;
  const open = async (): ReturnType<ServerDependencies['leases']['open']> => {
    const store = await clusters.part(PART);
    const registry = new ClusterRegistry({
      kinds: LEASE_KINDS,
      store,
      clock,
      guards: [roomGuard(store, limits)],
      complete: withoutGeneration,
    });
    return { store, registry };
  };
  let opened: ReturnType<typeof open> | undefined;
  return {
    kinds: LEASE_KINDS,
    open: () => {
      opened ??= open().catch((error: unknown) => {
        // The next request tries again.
        opened = undefined;
        throw error;
      });
      return opened;
    },
  };
}

/** 413 for a lease that is too large, 403 for one too many. */
function roomGuard(store: Pick<StorePart, 'list'>, limits: LeaseLimits): Guard {
  const { group, kind } = LEASE;
  return ({ object, old }) => {
    if (object === undefined) return undefined;
    if (Buffer.byteLength(JSON.stringify(object)) > limits.bytes) return tooLarge(limits.bytes);
    if (old !== undefined) return undefined;
    const { name = '', namespace = '' } = object.metadata;
    const full = (most: number, where: string) =>
      forbiddenError(
        `${LEASE.plural}.${group} ${JSON.stringify(name)} is forbidden: there are ${most} leases ${where}, as many as there is room for; delete some first`,
        LEASE,
        name,
      );
    if (store.list({ group, kind }).items.length >= limits.leases) {
      return full(limits.leases, 'in all');
    }
    const here = store.list({ group, kind, namespace }).items.length;
    if (here < limits.inNamespace) return undefined;
    return full(limits.inNamespace, `in the namespace ${JSON.stringify(namespace)}`);
  };
}
