/**
 * Usage of the clusters of tenants, for costs. Each cluster is read at most once a minute, a few at a
 * time, and never while writes wait for the branch.
 */
import { LRUCache } from 'lru-cache';
import type { Clock, KubeObject } from '../../apimachinery/index.ts';
import { mapLimit, pause } from '../../concurrency/index.ts';
import { readUsage, type TenantUsage } from '../../costs/index.ts';
import { type KindTable, settingsOf } from '../../kinds/index.ts';
import type { Branch } from '../../registry/index.ts';
import type { CostService } from '../../server/index.ts';
import type { Store } from '../../state/index.ts';
import type { Tenants } from './clusters.ts';
import { Kubeconfigs } from './kubeconfigs.ts';

export interface TenantCostsOptions {
  readonly tenants: Tenants;
  readonly kinds: KindTable;
  readonly store: Store;
  readonly branch: Pick<Branch, 'waiting'>;
  /** Folder of kubeconfigs that tenants name by file. */
  readonly kubeconfigs: string;
  /** Reason why a user has stopped the sync of a tenant; undefined: it runs. */
  suspended(tenant: string): string | undefined;
  readonly clock: Clock;
  /** Time limit for all tenants of a call. */
  readonly longestMs?: number;
}

type Observation = Omit<TenantUsage, 'name'>;

const CACHED_MS = 60_000;
const MOST_CACHED = 1000;
const MOST_RUNNING = 4;
const LONGEST_MS = 20_000;
const WRITES_MS = 50;
const LONGEST_REASON = 300;

export class TenantCosts implements CostService {
  readonly #options: TenantCostsOptions;
  readonly #kubeconfigs: Kubeconfigs;
  /** Failures too, so that an unreachable cluster is not asked at each request. */
  readonly #observations: LRUCache<string, Observation, KubeObject>;

  constructor(options: TenantCostsOptions) {
    const { kinds, store, kubeconfigs: folder } = options;
    this.#options = options;
    this.#kubeconfigs = new Kubeconfigs({ kinds, store, folder });
    this.#observations = new LRUCache({
      max: MOST_CACHED,
      ttl: CACHED_MS,
      fetchMethod: async (_key, _stale, { context }) => await this.#observe(context),
    });
  }

  names(): readonly string[] {
    return this.#options.tenants.names();
  }

  async usage(names: readonly string[]): Promise<readonly TenantUsage[]> {
    const end = performance.now() + (this.#options.longestMs ?? LONGEST_MS);
    return await mapLimit(names, MOST_RUNNING, async (name) => ({
      name,
      ...(await this.#usageOf(name, end)),
    }));
  }

  async #usageOf(name: string, end: number): Promise<Observation> {
    const { tenants, suspended, branch } = this.#options;
    const tenant = tenants.get(name);
    if (tenant === undefined) return { unknown: 'the tenant is gone' };
    const { source } = settingsOf(tenant);
    if (source === undefined) {
      return { unknown: 'its cluster is served by the platform, which has no nodes and no pods' };
    }
    const reason = suspended(name);
    if (reason !== undefined) return { unknown: `its cluster is not asked: ${reason}` };
    const key = JSON.stringify([name, tenant.metadata.uid, source]);
    const known = this.#observations.get(key);
    if (known !== undefined) return known;
    while (branch.waiting > 0 && performance.now() < end) await pause(WRITES_MS);
    if (performance.now() >= end) {
      const why = branch.waiting > 0 ? 'writes wait' : 'other tenants took too long';
      return { unknown: `its cluster was not asked yet, because ${why}: try again` };
    }
    return (await this.#observations.fetch(key, { context: tenant })) ?? { unknown: 'try again' };
  }

  async #observe(tenant: KubeObject): Promise<Observation> {
    const { source } = settingsOf(tenant);
    const observedAt = this.#options.clock.now();
    try {
      if (source === undefined) throw new Error('it has no kubeconfig');
      const usage = await readUsage(await this.#kubeconfigs.access(source));
      return { observedAt, usage };
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      const reason = text.replace(/\p{Cc}+/gu, ' ').slice(0, LONGEST_REASON);
      return { observedAt, unknown: `its cluster cannot be read: ${reason}` };
    }
  }
}
