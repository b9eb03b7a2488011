/**
 * Targets of tenant syncs, persisted so that any later process can remove the objects of a removed
 * tenant. The records are stored beside the served clusters, because deleting the platform's state must
 * not lose them. They contain no secrets: a kubeconfig is recorded by its reference.
 */
import { isRecord, jsonEqual, type KubeObject, valueAt } from '../../apimachinery/index.ts';
import type { KubeconfigSource, TenantSettings } from '../../kinds/index.ts';
import type { ScopedStore } from '../../state/index.ts';

export type SyncTarget = {
  /** Served cluster; ignored if there is a kubeconfig. */
  readonly cluster: string;
  readonly kubeconfig?: KubeconfigSource;
  /** Absent: each namespace of the tenant has a namespace at the target. */
  readonly namespace?: string;
};

type TenantTargets = {
  /** Absent: the tenant is gone. */
  readonly now?: SyncTarget;
  /** True if synced objects stay when the tenant is removed. */
  readonly retain?: boolean;
  /** Targets that are not cleaned up yet. */
  readonly former: readonly SyncTarget[];
};

function isTenantTargets(value: unknown): value is TenantTargets {
  return isRecord(value) && Array.isArray(value['former']);
}

const COLLECTION = { group: 'sync', kind: 'Places' };
const NONE: TenantTargets = { former: [] };

export class SyncTargets {
  readonly #records: Pick<ScopedStore, 'get' | 'list' | 'apply' | 'flush'>;

  constructor(records: Pick<ScopedStore, 'get' | 'list' | 'apply' | 'flush'>) {
    this.#records = records;
  }

  /** Tenants that have, or had, a target. */
  get tenants(): string[] {
    return this.#records.list(COLLECTION).items.map(({ key }) => key.name);
  }

  /** True if synced objects may be in the served cluster. */
  mayHaveObjectsIn(cluster: string): boolean {
    const isThere = (target: SyncTarget): boolean =>
      target.kubeconfig === undefined && target.cluster === cluster;
    return this.tenants.some((tenant) => {
      const { now, former } = this.#read(tenant);
      return [...former, ...(now === undefined ? [] : [now])].some(isThere);
    });
  }

  /** True if the tenant existed when it was last seen. */
  isRecorded(tenant: string): boolean {
    return this.#read(tenant).now !== undefined;
  }

  former(tenant: string): readonly SyncTarget[] {
    return this.#read(tenant).former;
  }

  /** Resolves when the target is persisted: only then may objects be written to it. */
  async record(tenant: string, target: SyncTarget, retain: boolean): Promise<void> {
    const { now, former } = this.#read(tenant);
    const left = now === undefined || jsonEqual(now, target) || retain ? [] : [now];
    const others = [...former, ...left].filter((each) => !jsonEqual(each, target));
    await this.#write(tenant, { now: target, ...(retain ? { retain } : {}), former: others });
  }

  async retire(tenant: string): Promise<void> {
    const { now, former, retain } = this.#read(tenant);
    const left = now === undefined || retain === true ? [] : [now];
    await this.#write(tenant, { former: [...former, ...left] });
  }

  async cleaned(tenant: string, target: SyncTarget): Promise<void> {
    const targets = this.#read(tenant);
    const former = targets.former.filter((each) => !jsonEqual(each, target));
    await this.#write(tenant, { ...targets, former });
  }

  #read(tenant: string): TenantTargets {
    const found = this.#records.get({ ...COLLECTION, namespace: '', name: tenant });
    const targets = valueAt(found?.object, ['targets']);
    return isTenantTargets(targets) ? targets : NONE;
  }

  async #write(tenant: string, targets: TenantTargets): Promise<void> {
    if (jsonEqual(targets, this.#read(tenant))) return;
    const key = { ...COLLECTION, namespace: '', name: tenant };
    const isEmpty = targets.now === undefined && targets.former.length === 0;
    const object: KubeObject = {
      apiVersion: 'v1',
      kind: COLLECTION.kind,
      metadata: { name: tenant },
      targets: { ...targets, former: [...targets.former] },
    };
    this.#records.apply([isEmpty ? { type: 'remove', key } : { type: 'put', key, object }]);
    await this.#records.flush();
  }
}

export function targetOf(settings: TenantSettings, mode: 'single' | 'multi'): SyncTarget {
  const { cluster, target, targetNamespace } = settings;
  return {
    cluster,
    ...(target === undefined ? {} : { kubeconfig: target }),
    ...(mode === 'single' ? { namespace: targetNamespace } : {}),
  };
}
