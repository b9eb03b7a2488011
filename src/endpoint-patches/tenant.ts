/** The tenant cluster of a patched object, as patches see it. Plain data. */
import { isRecord, type JsonObject, valueAt } from '../apimachinery/index.ts';
import type { Patch, SyncedKindName } from './settings.ts';

export interface TenantCluster {
  readonly name: string;
  /** On the control-plane cluster: where the tenant runs and where its objects go. */
  readonly namespace: string;
  /** The effective configuration, for `context.vcluster.config`. */
  readonly config: JsonObject;
  /** Single: all objects share `namespace`, so names change. Multi: each namespace has its own. */
  readonly mode: 'single' | 'multi';
  /** Multi-namespace mode: tenant namespace to control-plane namespace, `*` standing for a part. */
  readonly namespaces?: Readonly<Record<string, string>>;
  /** Namespaces without a mapping are left alone, not translated as in single-namespace mode. */
  readonly mappingsOnly?: boolean;
  /** Multi-namespace mode as it was before there were mappings: `vcluster-<hash>-<hash>`. */
  readonly hashedNamespaces?: boolean;
  /** Name format of references to Kubernetes kinds: `v…`, or `name-x-namespace-x-tenant`. */
  readonly referenceNames: 'short' | 'concat';
}

/** A tenant with its patches on one kind, such as `sync.toHost.endpoints.patches`. */
export interface PatchedTenant {
  readonly tenant: TenantCluster;
  readonly patches: readonly Patch[];
}

/** A tenant with the patches of each kind that is synced. A kind that is absent is not synced. */
export interface SyncedTenant {
  readonly tenant: TenantCluster;
  readonly patches: Readonly<Partial<Record<SyncedKindName, readonly Patch[]>>>;
}

/** `sync.toHost.namespaces`. */
export const NAMESPACES_SETTING = ['sync', 'toHost', 'namespaces'] as const;
/** Name of the setting in earlier versions. */
export const HASHED_SETTING = ['experimental', 'multiNamespaceMode', 'enabled'] as const;

/** The tenant of a vcluster.yaml in which `checkNamespacesSetting` found nothing wrong. */
export function tenantClusterOf(
  name: string,
  config: JsonObject,
  of: Pick<TenantCluster, 'namespace' | 'referenceNames'>,
): TenantCluster {
  const { namespace, referenceNames } = of;
  const tenant = { name, namespace, config, referenceNames };
  const setting = valueAt(config, NAMESPACES_SETTING);
  if (isRecord(setting) && setting['enabled'] === true) {
    const byName = valueAt(setting, ['mappings', 'byName']);
    const namespaces = (isRecord(byName) ? byName : {}) as Record<string, string>;
    const mappingsOnly = setting['mappingsOnly'] === true;
    return { ...tenant, mode: 'multi', namespaces, mappingsOnly };
  }
  if (valueAt(config, HASHED_SETTING) !== true) return { ...tenant, mode: 'single' };
  return { ...tenant, mode: 'multi', hashedNamespaces: true };
}
