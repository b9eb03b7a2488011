/**
 * Removes synced objects from former targets: when a tenant is removed, and when its target changes.
 * Unreachable targets are retried until they can be cleaned up.
 */

import { jsonEqual, type KubeObject } from '../../apimachinery/index.ts';
import { backoffAfter } from '../../concurrency/index.ts';
import type { TenantCluster } from '../../endpoint-patches/index.ts';
import { type ClusterAccess, hasReason, KubeClient } from '../../kubernetes-client/index.ts';
import { exceeds, type PruneBudget } from '../../registry/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { isWanted, removeSynced, SYNCED_KINDS } from '../../tenant-sync/index.ts';
import type { Tenants } from './clusters.ts';
import type { SyncTarget, SyncTargets } from './sync-targets.ts';

export interface OrphanCleanupOptions {
  targets(): Promise<SyncTargets>;
  access(target: SyncTarget): Promise<ClusterAccess>;
  readonly logger: Logger;
  /** Called when the next attempt is due. */
  retry(tenant: string): void;
  /** True if objects are removed even when the cluster may be the present one, as for rights. */
  readonly removesInDoubt?: boolean;
  /** Removes the remaining objects of a target. Returns their number. */
  remove(of: Removal): Promise<number>;
}

export interface Removal {
  readonly client: KubeClient;
  readonly tenant: string;
  readonly target: SyncTarget;
  /** The current tenant, if it is still at the same cluster. */
  readonly keep: CurrentTarget | undefined;
}

/** The current target of a tenant that still exists. */
export interface CurrentTarget {
  readonly target: SyncTarget;
  /** Absent: the objects to remove do not depend on the tenant. */
  readonly tenant?: TenantCluster;
}

const BACKOFF = { firstMs: 5_000, lastMs: 300_000 };

export class OrphanCleanup {
  readonly #options: OrphanCleanupOptions;
  /** Last known access to targets: the kubeconfig may be gone with the tenant. */
  readonly #access = new Map<string, ClusterAccess>();
  readonly #failures = new Map<string, number>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #left = new Map<string, number>();
  #closed = false;
  readonly #clients = new Set<KubeClient>();

  constructor(options: OrphanCleanupOptions) {
    this.#options = options;
  }

  /** Number of targets that are not cleaned up yet. */
  get remaining(): number {
    return [...this.#left.values()].reduce((sum, count) => sum + count, 0);
  }

  reached(target: SyncTarget, access: ClusterAccess): void {
    this.#access.set(idOfTarget(target), access);
  }

  /** Tries each target once. Never rejects because of a cluster. */
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
        this.#options.logger.warn({ err, tenant }, 'The synced objects cannot be removed yet');
      }
    }
    this.#left.set(tenant, targets.former(tenant).length);
    if (failed) this.#later(tenant);
    else this.#failures.delete(tenant);
  }

  /** Aborts work in progress; the next process repeats it. */
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
        const text = 'What was synced stays: it is unknown if its cluster is the present one';
        logger.warn({ tenant, place: target }, text);
        return;
      }
      const keep = same === true ? current : undefined;
      const removed = await this.#options.remove({ client, tenant, target, keep });
      logger.info({ tenant, removed, place: target }, 'The synced objects are removed');
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

  /** Undefined: unknown. Two kubeconfigs may reach the same cluster. */
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

/** Clusters have no id; the uid of `kube-system` serves as one. */
async function uidOfCluster(client: KubeClient): Promise<string | undefined> {
  try {
    const { metadata } = await client.get({ plural: 'namespaces', name: 'kube-system' });
    return metadata.uid;
  } catch (error) {
    if (hasReason(error, 'Forbidden', 'NotFound')) return undefined;
    throw error;
  }
}

/** Equal for equal targets, whatever the order of their fields. */
function idOfTarget({ cluster, kubeconfig, namespace }: SyncTarget): string {
  const { file, sharedSecret: of } = kubeconfig ?? {};
  return JSON.stringify([cluster, file, of?.namespace, of?.name, of?.key, namespace]);
}

/** True if two targets are reached in the same way. */
function isSameCluster(a: SyncTarget, b: SyncTarget): boolean {
  if (a.kubeconfig === undefined && b.kubeconfig === undefined) return a.cluster === b.cluster;
  return jsonEqual(a.kubeconfig, b.kubeconfig);
}

/** Removes the objects of endpoint sync. */
export async function removeSyncedObjects(
  { client, tenant, target, keep }: Removal,
  logger: Logger,
): Promise<number> {
  const current = keep?.tenant;
  const keeps = (object: KubeObject): boolean => current !== undefined && isWanted(object, current);
  let sum = 0;
  for (const kind of Object.values(SYNCED_KINDS)) {
    // A kubeconfig of an older version may reach only Endpoints, and has synced nothing else.
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
 * Tenants that are gone but still have targets. If more tenants than the prune budget allows went while
 * no process ran, they are held: a wrong folder looks like that.
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
