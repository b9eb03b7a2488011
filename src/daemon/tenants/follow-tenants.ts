/** Tenants: their syncs start, change and end with their objects and suspensions. */

import type { Platform } from '../platform.ts';
import type { PlatformContext } from '../platform-context.ts';
import type { Clusters } from './clusters.ts';
import type { TenantLoops } from './tenant-loops.ts';
import type { TenantRoles } from './tenant-roles.ts';

interface TenantFollowers extends PlatformContext {
  readonly platform: Platform;
  readonly clusters: Clusters;
  readonly loops: TenantLoops;
  readonly roles: TenantRoles;
}

/** Follows the tenants, and cleans up after those that were removed while no daemon ran or their sync was suspended. */
export function followTenants({
  platform,
  clusters,
  loops,
  roles,
  options,
  logger,
}: TenantFollowers): {
  close(): void;
} {
  const follow = (name: string): void => {
    loops.follow(name);
    roles.follow(name);
  };
  // Changed or removed while their sync is suspended.
  const waiting = new Set<string>();
  clusters.follow((name) => {
    if (platform.suspensions.find('tenants', name) !== undefined) waiting.add(name);
    follow(name);
  });
  const failed = (err: unknown): void => logger.error({ err }, 'Tenants are not followed');
  const cleanUp = (): void => {
    loops.resume(options.pruneBudget).catch(failed);
    roles.resume(options.pruneBudget).catch(failed);
  };
  if (clusters.wasUsed) cleanUp();
  const close = platform.suspensions.subscribe(({ suspension, is }) => {
    if (suspension.part !== 'tenants') return;
    const { name } = suspension;
    const affected = name === undefined ? [...clusters.tenants.names(), ...waiting] : [name];
    for (const one of new Set(affected)) {
      if (is !== 'suspended') waiting.delete(one);
      follow(one);
    }
    // Removed before this process started.
    if (is !== 'suspended') cleanUp();
  });
  return { close };
}
