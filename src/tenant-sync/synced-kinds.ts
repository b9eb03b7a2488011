/** The kinds that a tenant loop syncs, and the rules of each. One loop runs per kind. */
import type { KubeObject } from '../apimachinery/index.ts';
import type { SyncedKindName, TenantCluster } from '../endpoint-patches/index.ts';
import { mustReplaceService, translateService, withAssigned } from './services.ts';
import { type NotSynced, notSynced, notSyncedService, translateEndpoints } from './translate.ts';

export interface SyncedKind {
  readonly name: SyncedKindName;
  readonly plural: string;
  /** True: a Service of the same name decides which objects are synced. */
  readonly followsService: boolean;
  /** Undefined: the object is synced. */
  notSynced(
    source: { readonly namespace: string; readonly name: string },
    of: { readonly object: KubeObject; readonly service: KubeObject | undefined },
  ): NotSynced | undefined;
  /** The object for the control-plane cluster, before the patches. */
  translate(object: KubeObject, tenant: TenantCluster): KubeObject;
  /** Adds assigned fields of the actual object to the wanted one. */
  complete(wanted: KubeObject, actual: KubeObject): KubeObject;
  /** True if an update is impossible: the object is deleted and created again. */
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

/** The synced kind of an object in a file or request; undefined: it is not synced. */
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
