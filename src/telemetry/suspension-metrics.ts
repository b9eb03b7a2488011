/** Metric of parts that an operator has suspended. */
import { Gauge, type Registry } from 'prom-client';

/** `count` is called for each scrape. */
export function createSuspensionMetrics(
  registry: Registry,
  parts: readonly string[],
  count: (part: string) => number,
): void {
  new Gauge({
    name: 'gitplane_suspended',
    help: 'Suspensions in force, by part (remote, secret-store, tenants)',
    labelNames: ['part'],
    registers: [registry],
    collect() {
      for (const part of parts) this.set({ part }, count(part));
    },
  });
}
