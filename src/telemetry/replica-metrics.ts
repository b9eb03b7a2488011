/** Metrics of a replica that follows the state. */
import { Counter, Gauge, type Registry } from 'prom-client';

export function createReplicaMetrics(
  registry: Registry,
  observe: {
    /** Milliseconds since it was last sure to show the newest; Infinity: never yet. */
    readonly unconfirmedMs: number;
    readonly counts: { readonly steps: number; readonly reloads: number };
    readonly resourceVersion: number;
  },
): void {
  const registers = [registry];
  new Gauge({
    name: 'gitplane_replica_unconfirmed_seconds',
    help: 'Seconds since this replica last confirmed that it shows the newest state',
    registers,
    collect() {
      this.set(observe.unconfirmedMs / 1000);
    },
  });
  new Gauge({
    name: 'gitplane_replica_resource_version',
    help: 'Newest version that this replica shows',
    registers,
    collect() {
      this.set(observe.resourceVersion);
    },
  });
  new Counter({
    name: 'gitplane_replica_steps_total',
    help: 'State changes that this replica applied',
    registers,
    collect() {
      this.reset();
      this.inc(observe.counts.steps);
    },
  });
  new Counter({
    name: 'gitplane_replica_reloads_total',
    help: 'Full reads of the state by this replica, which end its watches',
    registers,
    collect() {
      this.reset();
      this.inc(observe.counts.reloads);
    },
  });
}
