/** Tenants as patches see them. */
import type { JsonObject, KubeObject } from '../apimachinery/object.ts';
import { readEndpointsSetting } from '../endpointsync/settings.ts';
import { type PatchedTenant, tenantClusterOf } from '../endpointsync/tenant.ts';
import { settingsOf, type TenantSettings } from './tenant.ts';

type ReferenceNames = 'short' | 'concat';

export function patchedTenant(
  name: string,
  settings: TenantSettings,
  referenceNames: ReferenceNames,
): PatchedTenant {
  const { targetNamespace: namespace } = settings;
  const config = settings.config as JsonObject;
  const { patches } = readEndpointsSetting(config);
  return { tenant: tenantClusterOf(name, config, { namespace, referenceNames }), patches };
}

export interface TenantChange {
  readonly name: string;
  /** Absent: the tenant is new. */
  readonly before?: KubeObject | undefined;
  /** Absent: it goes. */
  readonly after?: KubeObject | undefined;
}

/**
 * What is on the control-plane cluster by the old and by the new file; undefined: nothing is. A sync
 * that is disabled, or that goes and leaves its objects, changes none of them.
 */
export function tenantVersions(
  { name, before, after }: TenantChange,
  referenceNames: ReferenceNames,
): { before: PatchedTenant | undefined; after: PatchedTenant | undefined } {
  const version = (object: KubeObject | undefined): PatchedTenant | undefined => {
    const settings = object && settingsOf({ ...object, metadata: { ...object.metadata, name } });
    return settings?.enabled ? patchedTenant(name, settings, referenceNames) : undefined;
  };
  const old = version(before);
  const stays =
    after === undefined
      ? before !== undefined && settingsOf(before).deletionPolicy === 'Retain'
      : !settingsOf(after).enabled;
  return { before: old, after: stays ? old : version(after) };
}
