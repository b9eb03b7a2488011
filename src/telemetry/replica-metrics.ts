/** What a replica tells about how it follows the state. */
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
    help: 'Seconds since this replica was last sure to show the newest state',
    registers,
    collect() {
      this.set(observe.unconfirmedMs / 1000);
    },
  });
  new Gauge({
    name: 'gitplane_replica_resource_version',
    help: 'The newest version that this replica shows',
    registers,
    collect() {
      this.set(observe.resourceVersion);
    },
  });
  new Counter({
    name: 'gitplane_replica_steps_total',
    help: 'Steps of the state that this replica followed',
    registers,
    collect() {
      this.reset();
      this.inc(observe.counts.steps);
    },
  });
  new Counter({
    name: 'gitplane_replica_reloads_total',
    help: 'How often this replica had to read the whole state anew, which ends its watches',
    registers,
    collect() {
      this.reset();
      this.inc(observe.counts.reloads);
    },
  });
}
