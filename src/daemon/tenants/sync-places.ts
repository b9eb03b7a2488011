/**
 * Where tenants have put what they synced, so that it can be removed when the tenant is gone, even
 * by the next process. It is kept beside the clusters that are served here: throwing the state away
 * must not make anybody forget what is to be cleaned up. No secret is in it: a kubeconfig is named.
 */
import { type JsonObject, jsonEqual, type KubeObject, valueAt } from '../../apimachinery/index.ts';
import type { KubeconfigSource, TenantSettings } from '../../kinds/index.ts';
import type { ScopedStore } from '../../state/index.ts';

export interface SyncPlace {
  /** Of the clusters that are served here; where there is a kubeconfig it does not count. */
  readonly cluster: string;
  readonly kubeconfig?: KubeconfigSource;
  /** Absent: each namespace of the tenant has one of its own. */
  readonly namespace?: string;
}

interface Places {
  /** Absent: the tenant is gone. */
  readonly now?: SyncPlace;
  /** Whether it stays as it is when the tenant goes. */
  readonly retain?: boolean;
  /** What is still to be cleaned up. */
  readonly former: readonly SyncPlace[];
}

const COLLECTION = { group: 'sync', kind: 'Places' };
const NONE: Places = { former: [] };

export class SyncPlaces {
  readonly #records: Pick<ScopedStore, 'get' | 'list' | 'apply' | 'flush'>;

  constructor(records: Pick<ScopedStore, 'get' | 'list' | 'apply' | 'flush'>) {
    this.#records = records;
  }

  /** Tenants that have, or had, something somewhere. */
  get tenants(): string[] {
    return this.#records.list(COLLECTION).items.map(({ key }) => key.name);
  }

  /** Whether anything may be in the cluster that is served here. */
  isAt(cluster: string): boolean {
    const isThere = (place: SyncPlace): boolean =>
      place.kubeconfig === undefined && place.cluster === cluster;
    return this.tenants.some((tenant) => {
      const { now, former } = this.#read(tenant);
      return [...former, ...(now === undefined ? [] : [now])].some(isThere);
    });
  }

  /** Whether the tenant was last seen to be there. */
  isIn(tenant: string): boolean {
    return this.#read(tenant).now !== undefined;
  }

  former(tenant: string): readonly SyncPlace[] {
    return this.#read(tenant).former;
  }

  /** Resolves when it is kept: from then on objects may be written there. */
  async enter(tenant: string, place: SyncPlace, retain: boolean): Promise<void> {
    const { now, former } = this.#read(tenant);
    const left = now === undefined || jsonEqual(now, place) || retain ? [] : [now];
    const others = [...former, ...left].filter((each) => !jsonEqual(each, place));
    await this.#write(tenant, { now: place, ...(retain ? { retain } : {}), former: others });
  }

  async leave(tenant: string): Promise<void> {
    const { now, former, retain } = this.#read(tenant);
    const left = now === undefined || retain === true ? [] : [now];
    await this.#write(tenant, { former: [...former, ...left] });
  }

  async cleaned(tenant: string, place: SyncPlace): Promise<void> {
    const places = this.#read(tenant);
    const former = places.former.filter((each) => !jsonEqual(each, place));
    await this.#write(tenant, { ...places, former });
  }

  #read(tenant: string): Places {
    const found = this.#records.get({ ...COLLECTION, namespace: '', name: tenant });
    const places = valueAt(found?.object, ['places']);
    return (places as unknown as Places | undefined) ?? NONE;
  }

  async #write(tenant: string, places: Places): Promise<void> {
    if (jsonEqual(places, this.#read(tenant))) return;
    const key = { ...COLLECTION, namespace: '', name: tenant };
    const isEmpty = places.now === undefined && places.former.length === 0;
    const object: KubeObject = {
      apiVersion: 'v1',
      kind: COLLECTION.kind,
      metadata: { name: tenant },
      places: places as unknown as JsonObject,
    };
    this.#records.apply([isEmpty ? { type: 'remove', key } : { type: 'put', key, object }]);
    await this.#records.flush();
  }
}

export function placeOf(settings: TenantSettings, mode: 'single' | 'multi'): SyncPlace {
  const { cluster, target, targetNamespace } = settings;
  return {
    cluster,
    ...(target === undefined ? {} : { kubeconfig: target }),
    ...(mode === 'single' ? { namespace: targetNamespace } : {}),
  };
}

/** The same for the same place, whatever the order in which its fields were written. */
export function idOfPlace({ cluster, kubeconfig, namespace }: SyncPlace): string {
  const { file, sharedSecret: of } = kubeconfig ?? {};
  return JSON.stringify([cluster, file, of?.namespace, of?.name, of?.key, namespace]);
}

/** Whether two places are reached in the same way. */
export function isSameCluster(a: SyncPlace, b: SyncPlace): boolean {
  if (a.kubeconfig === undefined && b.kubeconfig === undefined) return a.cluster === b.cluster;
  return jsonEqual(a.kubeconfig, b.kubeconfig);
}
