/**
 * Cleans up where tenants used to put what they synced: when they are removed, and when they go
 * somewhere else. What cannot be reached is tried again for as long as it takes.
 */

import type { KubeObject } from '../../apimachinery/index.ts';
import type { TenantCluster } from '../../endpoint-patches/index.ts';
import {
  backoffAfter,
  type ClusterAccess,
  hasReason,
  KubeClient,
} from '../../kubernetes-client/index.ts';
import { exceeds, type PruneBudget } from '../../registry/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { isWanted, removeSynced, SYNCED_KINDS } from '../../tenant-sync/index.ts';
import type { Tenants } from './clusters.ts';
import { idOfTarget, isSameCluster, type SyncTarget, type SyncTargets } from './sync-targets.ts';

export interface OrphanCleanupOptions {
  targets(): Promise<SyncTargets>;
  access(target: SyncTarget): Promise<ClusterAccess>;
  readonly logger: Logger;
  /** It is time to try again. */
  retry(tenant: string): void;
  /** True if it is removed where nobody can tell that the cluster is another one, as rights are. */
  readonly removesInDoubt?: boolean;
  /** Removes what is left at a target, and says how much it was. */
  remove(of: Removal): Promise<number>;
}

export interface Removal {
  readonly client: KubeClient;
  readonly tenant: string;
  readonly target: SyncTarget;
  /** The tenant as it is, where it is at the same cluster still. */
  readonly keep: CurrentTarget | undefined;
}

/** The tenant as it is, where it is still there. */
export interface CurrentTarget {
  readonly target: SyncTarget;
  /** Absent where what is left does not depend on it. */
  readonly tenant?: TenantCluster;
}

const BACKOFF = { firstMs: 5_000, lastMs: 300_000 };

export class OrphanCleanup {
  readonly #options: OrphanCleanupOptions;
  /** How targets were reached last: by now the kubeconfig may be gone with the tenant. */
  readonly #access = new Map<string, ClusterAccess>();
  readonly #failures = new Map<string, number>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #left = new Map<string, number>();
  #closed = false;
  readonly #clients = new Set<KubeClient>();

  constructor(options: OrphanCleanupOptions) {
    this.#options = options;
  }

  /** How many targets are still to be cleaned up. */
  get remaining(): number {
    return [...this.#left.values()].reduce((sum, count) => sum + count, 0);
  }

  reached(target: SyncTarget, access: ClusterAccess): void {
    this.#access.set(idOfTarget(target), access);
  }

  /** Tries each target once; never rejects for what a cluster does. */
  async clean(tenant: string, current?: CurrentTarget): Promise<void> {
    const targets = await this.#options.targets();
    clearTimeout(this.#timers.get(tenant));
    let failed = false;
    for (const target of targets.former(tenant)) {
      if (this.#closed) return;
      try {
        await this.#cleanOne(tenant, target, current);
        await targets.cleaned(tenant, target);
        this.#access.delete(idOfTarget(target));
      } catch (err) {
        failed = true;
        this.#options.logger.warn({ err, tenant }, 'What was synced cannot be removed yet');
      }
    }
    this.#left.set(tenant, targets.former(tenant).length);
    if (failed) this.#later(tenant);
    else this.#failures.delete(tenant);
  }

  /** What is under way fails, and is done by the next process. */
  close(): void {
    this.#closed = true;
    for (const timer of this.#timers.values()) clearTimeout(timer);
    for (const client of this.#clients) client.close();
  }

  #later(tenant: string): void {
    if (this.#closed) return;
    const failures = (this.#failures.get(tenant) ?? 0) + 1;
    this.#failures.set(tenant, failures);
    const retry = (): void => this.#options.retry(tenant);
    this.#timers.set(tenant, setTimeout(retry, backoffAfter(failures, BACKOFF)));
  }

  async #cleanOne(
    tenant: string,
    target: SyncTarget,
    current: CurrentTarget | undefined,
  ): Promise<void> {
    const { logger } = this.#options;
    const client = await this.#connect(target);
    try {
      const same =
        current === undefined ? false : await this.#isSame(client, target, current.target);
      if (same === undefined && this.#options.removesInDoubt !== true) {
        const text =
          'What was synced stays: nobody can tell whether its cluster is the present one';
        logger.warn({ tenant, place: target }, text);
        return;
      }
      const keep = same === true ? current : undefined;
      const removed = await this.#options.remove({ client, tenant, target, keep });
      logger.info({ tenant, removed, place: target }, 'What was synced is removed');
    } finally {
      this.#disconnect(client);
    }
  }

  async #connect(target: SyncTarget): Promise<KubeClient> {
    const known = this.#access.get(idOfTarget(target));
    const client = new KubeClient(known ?? (await this.#options.access(target)));
    this.#clients.add(client);
    return client;
  }

  #disconnect(client: KubeClient): void {
    client.close();
    this.#clients.delete(client);
  }

  /** Undefined: it cannot be told. The same cluster may have two kubeconfigs. */
  async #isSame(
    client: KubeClient,
    target: SyncTarget,
    current: SyncTarget,
  ): Promise<boolean | undefined> {
    if (isSameCluster(target, current)) return true;
    const other = await this.#connect(current);
    try {
      const [a, b] = await Promise.all([client, other].map(uidOfCluster));
      return a === undefined || b === undefined ? undefined : a === b;
    } finally {
      this.#disconnect(other);
    }
  }
}

/** Clusters have no name of their own; the uid of this namespace is taken for one. */
async function uidOfCluster(client: KubeClient): Promise<string | undefined> {
  try {
    const { metadata } = await client.get({ plural: 'namespaces', name: 'kube-system' });
    return metadata.uid;
  } catch (error) {
    if (hasReason(error, 'Forbidden', 'NotFound')) return undefined;
    throw error;
  }
}

/** Removes what endpoint sync wrote. */
export async function removeSyncedObjects(
  { client, tenant, target, keep }: Removal,
  logger: Logger,
): Promise<number> {
  const current = keep?.tenant;
  const keeps = (object: KubeObject): boolean => current !== undefined && isWanted(object, current);
  let sum = 0;
  for (const kind of Object.values(SYNCED_KINDS)) {
    // A kubeconfig of a former version may reach Endpoints alone, and has synced nothing else.
    const isOptional = kind.name !== 'Endpoints';
    const { namespace } = target;
    const removed = await removeSynced({ kind, client, tenant, namespace, keeps, isOptional });
    if (removed === undefined) {
      const text = 'Services that were synced, if any, stay: the kubeconfig may not list them';
      logger.warn({ tenant }, text);
    }
    sum += removed ?? 0;
  }
  return sum;
}

/**
 * Tenants with targets that are there no more. Those that went while no process saw it are held where
 * they are more than the budget lets go: a wrong folder looks like that.
 */
export function goneTenants(
  targets: SyncTargets,
  tenants: Tenants,
  budget: PruneBudget,
): { readonly gone: readonly string[]; readonly held: readonly string[] } {
  const gone = targets.tenants.filter((name) => tenants.get(name) === undefined);
  const unseen = gone.filter((name) => targets.isRecorded(name));
  const [prunes, after] = [unseen.length, tenants.names().length];
  if (!exceeds(budget, { prunes, before: after + prunes, after })) return { gone, held: [] };
  return { gone: gone.filter((name) => !unseen.includes(name)), held: unseen };
}
