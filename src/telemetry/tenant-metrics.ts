/** What Prometheus reads about the endpoint sync of tenants. */
import { Counter, Gauge, type Registry } from 'prom-client';

interface Counts {
  readonly synced: number;
  readonly skipped: number;
  readonly stale: number;
  readonly failed: number;
}

export interface TenantMetrics {
  readonly writes: Counter<'tenant' | 'verb'>;
  readonly failures: Counter<'tenant' | 'reason'>;
  /** `counts` is asked at each scrape. */
  follow(counts: () => Iterable<{ tenant: string; summary: Counts }>): void;
  /** Places from which what was synced is still to be removed; asked at each scrape. */
  followLeftovers(count: () => number): void;
}

export function createTenantMetrics(registry: Registry): TenantMetrics {
  const registers = [registry];
  let observe: () => Iterable<{ tenant: string; summary: Counts }> = () => [];
  new Gauge({
    name: 'gitplane_tenant_endpoints',
    help: 'Endpoints of tenants by how far their sync is: synced, skipped, stale, failed',
    labelNames: ['tenant', 'state'],
    registers,
    collect() {
      this.reset();
      for (const { tenant, summary } of observe()) {
        for (const state of ['synced', 'skipped', 'stale', 'failed'] as const) {
          this.set({ tenant, state }, summary[state]);
        }
      }
    },
  });
  let leftovers = (): number => 0;
  new Gauge({
    name: 'gitplane_tenant_leftover_places',
    help: 'Places on control-plane clusters from which objects of removed or moved tenants are still to be removed',
    registers,
    collect() {
      this.set(leftovers());
    },
  });
  return {
    writes: new Counter({
      name: 'gitplane_tenant_writes_total',
      help: 'Objects that the endpoint sync wrote, by verb: create, update and delete on control-plane clusters, return in tenant clusters',
      labelNames: ['tenant', 'verb'],
      registers,
    }),
    failures: new Counter({
      name: 'gitplane_tenant_failures_total',
      help: 'Endpoints that could not be synced and will not be without a change, by reason',
      labelNames: ['tenant', 'reason'],
      registers,
    }),
    follow: (counts) => {
      observe = counts;
    },
    followLeftovers: (count) => {
      leftovers = count;
    },
  };
}
