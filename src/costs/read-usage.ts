/** Reads the nodes and pods of a cluster, within limits of time, count and bytes. */
import { type ClusterAccess, KubeClient, type ListLimits } from '../kubernetes-client/index.ts';
import { addUsage, type Usage, usageOf } from './usage.ts';

export interface UsageLimits extends ListLimits {
  /** Time for the whole cluster. */
  readonly ms: number;
}

/** Of each collection. Pages are smaller than those of a reflector: parsing a page delays other requests. */
const LIMITS: UsageLimits = { ms: 5_000, items: 10_000, bytes: 32 * 1024 * 1024, page: 100 };

/** Throws ApiFailure. */
export async function readUsage(
  access: ClusterAccess,
  limits: UsageLimits = LIMITS,
): Promise<Usage> {
  const client = new KubeClient(access);
  const signal = AbortSignal.timeout(limits.ms);
  try {
    let usage = usageOf({ nodes: [], pods: [] });
    for await (const { items } of client.pages({ plural: 'nodes' }, { signal, limits })) {
      usage = addUsage(usage, usageOf({ nodes: items, pods: [] }));
    }
    for await (const { items } of client.pages({ plural: 'pods' }, { signal, limits })) {
      usage = addUsage(usage, usageOf({ nodes: [], pods: items }));
    }
    return usage;
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new Error(`no complete answer within ${limits.ms / 1000} s`, { cause: error });
  } finally {
    client.close();
  }
}
