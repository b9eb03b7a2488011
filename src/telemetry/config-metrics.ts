/** Metrics of the platform configuration. */
import { Counter, Gauge, type Registry } from 'prom-client';

export interface ConfigMetrics {
  readonly changes: Counter<'result'>;
}

/** `problem`: why the newest configuration is not in force as it was written, if it is not. */
export function createConfigMetrics(
  registry: Registry,
  problem: () => string | undefined,
): ConfigMetrics {
  const registers = [registry];
  new Gauge({
    name: 'gitplane_config_in_force',
    help: '1 while the newest configuration is in force, else 0',
    registers,
    collect() {
      this.set(problem() === undefined ? 1 : 0);
    },
  });
  return {
    changes: new Counter({
      name: 'gitplane_config_changes_total',
      help: 'Configurations by result (applied, refused)',
      labelNames: ['result'],
      registers,
    }),
  };
}
