/** Metrics of deliveries to systems outside. */
import { Counter, Gauge, type Registry } from 'prom-client';

export interface DeliveryMetrics {
  ended(destination: string, result: string): void;
  failed(destination: string): void;
  /** Both are asked at each scrape. `oldest`: in milliseconds since the epoch. */
  follow(facts: {
    counts(): ReadonlyMap<string, number>;
    readonly oldest: number | undefined;
  }): void;
}

export function createDeliveryMetrics(registry: Registry): DeliveryMetrics {
  const registers = [registry];
  let facts: Parameters<DeliveryMetrics['follow']>[0] = {
    counts: () => new Map(),
    oldest: undefined,
  };
  const ended = new Counter({
    name: 'gitplane_deliveries_total',
    help: 'Deliveries that left the queue, by result: delivered, replaced by a newer one, obsolete, or lost because they were too old (expired) or too many (overflowed)',
    labelNames: ['destination', 'result'],
    registers,
  });
  const failed = new Counter({
    name: 'gitplane_delivery_failures_total',
    help: 'Failed attempts to deliver',
    labelNames: ['destination'],
    registers,
  });
  new Gauge({
    name: 'gitplane_deliveries_waiting',
    help: 'Deliveries that wait for their destination',
    labelNames: ['destination'],
    registers,
    collect() {
      this.reset();
      for (const [destination, count] of facts.counts()) this.set({ destination }, count);
    },
  });
  new Gauge({
    name: 'gitplane_delivery_oldest_age_seconds',
    help: 'Age of the oldest delivery that waits; 0: none does',
    registers,
    collect() {
      const { oldest } = facts;
      this.set(oldest === undefined ? 0 : Math.max(0, (Date.now() - oldest) / 1000));
    },
  });
  return {
    ended: (destination, result) => ended.inc({ destination, result }),
    failed: (destination) => failed.inc({ destination }),
    follow: (followed) => {
      facts = followed;
    },
  };
}
