/**
 * Where tenants have put what they synced, so that it can be removed when the tenant is gone, even
 * by the next process. It is kept beside the clusters that are served here: throwing the state away
 * must not make anybody forget what is to be cleaned up. No secret is in it: a kubeconfig is named.
 */
import { type JsonObject, jsonEqual, type KubeObject, valueAt } from '../../apimachinery/index.ts';
import type { KubeconfigSource, TenantSettings } from '../../kinds/index.ts';
import type { ScopedStore } from '../../state/index.ts';

export interface SyncTarget {
  /** Of the clusters that are served here; where there is a kubeconfig it does not count. */
  readonly cluster: string;
  readonly kubeconfig?: KubeconfigSource;
  /** Absent: each namespace of the tenant has one of its own. */
  readonly namespace?: string;
}

interface TenantTargets {
  /** Absent: the tenant is gone. */
  readonly now?: SyncTarget;
  /** Whether it stays as it is when the tenant goes. */
  readonly retain?: boolean;
  /** What is still to be cleaned up. */
  readonly former: readonly SyncTarget[];
}

const COLLECTION = { group: 'sync', kind: 'Places' };
const NONE: TenantTargets = { former: [] };

export class SyncTargets {
  readonly #records: Pick<ScopedStore, 'get' | 'list' | 'apply' | 'flush'>;

  constructor(records: Pick<ScopedStore, 'get' | 'list' | 'apply' | 'flush'>) {
    this.#records = records;
  }

  /** Tenants that have, or had, something somewhere. */
  get tenants(): string[] {
    return this.#records.list(COLLECTION).items.map(({ key }) => key.name);
  }

  /** Whether anything may be in the cluster that is served here. */
  mayHaveObjectsIn(cluster: string): boolean {
    const isThere = (target: SyncTarget): boolean =>
      target.kubeconfig === undefined && target.cluster === cluster;
    return this.tenants.some((tenant) => {
      const { now, former } = this.#read(tenant);
      return [...former, ...(now === undefined ? [] : [now])].some(isThere);
    });
  }

  /** Whether the tenant was last seen to be there. */
  isRecorded(tenant: string): boolean {
    return this.#read(tenant).now !== undefined;
  }

  former(tenant: string): readonly SyncTarget[] {
    return this.#read(tenant).former;
  }

  /** Resolves when it is kept: from then on objects may be written there. */
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
    return (targets as unknown as TenantTargets | undefined) ?? NONE;
  }

  async #write(tenant: string, targets: TenantTargets): Promise<void> {
    if (jsonEqual(targets, this.#read(tenant))) return;
    const key = { ...COLLECTION, namespace: '', name: tenant };
    const isEmpty = targets.now === undefined && targets.former.length === 0;
    const object: KubeObject = {
      apiVersion: 'v1',
      kind: COLLECTION.kind,
      metadata: { name: tenant },
      targets: targets as unknown as JsonObject,
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

/** The same for the same target, whatever the order in which its fields were written. */
export function idOfTarget({ cluster, kubeconfig, namespace }: SyncTarget): string {
  const { file, sharedSecret: of } = kubeconfig ?? {};
  return JSON.stringify([cluster, file, of?.namespace, of?.name, of?.key, namespace]);
}

/** Whether two targets are reached in the same way. */
export function isSameCluster(a: SyncTarget, b: SyncTarget): boolean {
  if (a.kubeconfig === undefined && b.kubeconfig === undefined) return a.cluster === b.cluster;
  return jsonEqual(a.kubeconfig, b.kubeconfig);
}
