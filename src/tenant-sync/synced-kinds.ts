/** The kinds that the loop of a tenant syncs, and the rules of each. One loop runs per kind. */
import type { KubeObject } from '../apimachinery/index.ts';
import type { SyncedKindName, TenantCluster } from '../endpoint-patches/index.ts';
import { mustReplaceService, translateService, withAssigned } from './services.ts';
import { type NotSynced, notSynced, notSyncedService, translateEndpoints } from './translate.ts';

export interface SyncedKind {
  readonly name: SyncedKindName;
  readonly plural: string;
  /** A Service of the same name decides which objects are synced. */
  readonly followsService: boolean;
  /** Undefined: the object is synced. */
  notSynced(
    source: { readonly namespace: string; readonly name: string },
    of: { readonly object: KubeObject; readonly service: KubeObject | undefined },
  ): NotSynced | undefined;
  /** The object for the control-plane cluster, before the patches. */
  translate(object: KubeObject, tenant: TenantCluster): KubeObject;
  /** Completes the wanted object by what the control-plane cluster has assigned to the actual one. */
  complete(wanted: KubeObject, actual: KubeObject): KubeObject;
  /** No update leads there: the object is deleted and created again. */
  mustReplace(wanted: KubeObject, actual: KubeObject): boolean;
}

export const SYNCED_KINDS: Readonly<Record<SyncedKindName, SyncedKind>> = {
  Endpoints: {
    name: 'Endpoints',
    plural: 'endpoints',
    followsService: true,
    notSynced,
    translate: translateEndpoints,
    complete: (wanted) => wanted,
    mustReplace: () => false,
  },
  Service: {
    name: 'Service',
    plural: 'services',
    followsService: false,
    notSynced: notSyncedService,
    translate: translateService,
    complete: withAssigned,
    mustReplace: mustReplaceService,
  },
};

/** The synced kind of an object of a file or a request; undefined: it is not synced. */
export function syncedKindOf({
  apiVersion,
  kind,
}: {
  readonly apiVersion?: unknown;
  readonly kind?: unknown;
}): SyncedKind | undefined {
  if (apiVersion !== 'v1' || typeof kind !== 'string') return undefined;
  return Object.values(SYNCED_KINDS).find(({ name }) => name === kind);
}
