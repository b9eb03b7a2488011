/** Metrics about the objects of the repository and the keys of its secrets. */
import { Gauge, type Registry } from 'prom-client';

export interface RepositoryMetrics {
  readonly damaged: Gauge<'part'>;
}

export function createRepositoryMetrics(registry: Registry): RepositoryMetrics {
  return {
    damaged: new Gauge({
      name: 'gitplane_repository_damaged',
      help: '1 while objects of the repository cannot be read, by part (tip, packs, history)',
      labelNames: ['part'],
      registers: [registry],
    }),
  };
}
