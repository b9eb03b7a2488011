/** Tenants in the form of the patch engine. */
import type { JsonObject, KubeObject } from '../apimachinery/index.ts';
import {
  readEndpointsSetting,
  readServicesSetting,
  type SyncedTenant,
  tenantClusterOf,
} from '../endpoint-patches/index.ts';
import { settingsOf, type TenantSettings } from './tenant.ts';

type ReferenceNames = 'short' | 'concat';

export function syncedTenant(
  name: string,
  settings: TenantSettings,
  referenceNames: ReferenceNames,
): SyncedTenant {
  const { targetNamespace: namespace } = settings;
  const config = settings.config as JsonObject;
  const endpoints = readEndpointsSetting(config);
  const services = readServicesSetting(config);
  return {
    tenant: tenantClusterOf(name, config, { namespace, referenceNames }),
    patches: {
      ...(endpoints.enabled ? { Endpoints: endpoints.patches } : {}),
      ...(services.enabled ? { Service: services.patches } : {}),
    },
  };
}

export interface TenantChange {
  readonly name: string;
  /** Absent: the tenant is new. */
  readonly before?: KubeObject | undefined;
  /** Absent: the tenant is deleted. */
  readonly after?: KubeObject | undefined;
}

/**
 * The sync before and after a change of the file. Undefined: no objects are synced. A sync that is
 * disabled, or deleted with `deletionPolicy: Retain`, changes no object.
 */
export function tenantVersions(
  { name, before, after }: TenantChange,
  referenceNames: ReferenceNames,
): { before: SyncedTenant | undefined; after: SyncedTenant | undefined } {
  const version = (object: KubeObject | undefined): SyncedTenant | undefined => {
    const settings = object && settingsOf({ ...object, metadata: { ...object.metadata, name } });
    return settings && syncedTenant(name, settings, referenceNames);
  };
  const [old, next] = [version(before), version(after)];
  if (old === undefined || next === undefined) {
    const stays = before !== undefined && settingsOf(before).deletionPolicy === 'Retain';
    return { before: old, after: stays ? old : next };
  }
  if (next.patches.Endpoints === undefined) return { before: old, after: old };
  // Services that are no longer synced stay unchanged.
  return { before: old, after: { ...next, patches: { ...old.patches, ...next.patches } } };
}
