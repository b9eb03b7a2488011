/** Metrics of the sync of Endpoints and Services of tenants. */
import { Counter, Gauge, type Registry } from 'prom-client';

interface Counts {
  readonly synced: number;
  readonly skipped: number;
  readonly stale: number;
  readonly failed: number;
}

interface TenantCounts {
  readonly tenant: string;
  readonly kind: 'Endpoints' | 'Service';
  readonly summary: Counts;
}

export interface TenantMetrics {
  readonly writes: Counter<'tenant' | 'kind' | 'verb'>;
  readonly failures: Counter<'tenant' | 'kind' | 'reason'>;
  /** `counts` is asked at each scrape. */
  follow(counts: () => Iterable<TenantCounts>): void;
  /** Places from which what was synced is still to be removed; asked at each scrape. */
  followLeftovers(count: () => number): void;
}

const GAUGES = [
  {
    kind: 'Endpoints',
    name: 'gitplane_tenant_endpoints',
    help: 'Endpoints of tenants by sync state: synced, skipped, stale, failed',
  },
  {
    kind: 'Service',
    name: 'gitplane_tenant_services',
    help: 'Services of tenants by sync state: synced, skipped, stale, failed',
  },
] as const;

export function createTenantMetrics(registry: Registry): TenantMetrics {
  const registers = [registry];
  let observe: () => Iterable<TenantCounts> = () => [];
  for (const { kind, name, help } of GAUGES) {
    new Gauge({
      ...{ name, help, registers },
      labelNames: ['tenant', 'state'],
      collect() {
        this.reset();
        for (const { tenant, kind: of, summary } of observe()) {
          if (of !== kind) continue;
          for (const state of ['synced', 'skipped', 'stale', 'failed'] as const) {
            this.set({ tenant, state }, summary[state]);
          }
        }
      },
    });
  }
  let leftovers = (): number => 0;
  new Gauge({
    name: 'gitplane_tenant_leftover_places',
    help: 'Namespaces of control-plane clusters with objects of removed or moved tenants that are still to be deleted',
    registers,
    collect() {
      this.set(leftovers());
    },
  });
  return {
    writes: new Counter({
      name: 'gitplane_tenant_writes_total',
      help: 'Endpoints and Services written by the synchronization, by verb: create, update and delete on control-plane clusters, return in tenant clusters',
      labelNames: ['tenant', 'kind', 'verb'],
      registers,
    }),
    failures: new Counter({
      name: 'gitplane_tenant_failures_total',
      help: 'Endpoints and Services that cannot be synchronized without a change, by reason',
      labelNames: ['tenant', 'kind', 'reason'],
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
