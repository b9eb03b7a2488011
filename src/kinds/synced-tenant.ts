/** Tenants as their loops see them. */
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
  // Services that are not synced any more stay as they were.
  return { before: old, after: { ...next, patches: { ...old.patches, ...next.patches } } };
}
