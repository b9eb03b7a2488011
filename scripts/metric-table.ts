/** Every metric as a table, from the code that makes them. */
import { createAuditMetrics } from '../src/telemetry/audit-metrics.ts';
import { createConfigMetrics } from '../src/telemetry/config-metrics.ts';
import { createDeliveryMetrics } from '../src/telemetry/delivery-metrics.ts';
import { createFairnessMetrics } from '../src/telemetry/fairness-metrics.ts';
import { createMetrics } from '../src/telemetry/metrics.ts';
import { createRemoteMetrics } from '../src/telemetry/remote-metrics.ts';
import { createReplicaMetrics } from '../src/telemetry/replica-metrics.ts';
import { createRepositoryMetrics } from '../src/telemetry/repository-metrics.ts';
import { createRoleMetrics } from '../src/telemetry/role-metrics.ts';
import { createSecretSyncMetrics } from '../src/telemetry/secret-sync-metrics.ts';
import { createTenantMetrics } from '../src/telemetry/tenant-metrics.ts';
import { table } from './markdown-table.ts';

interface Described {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly type?: string;
  readonly constructor: { readonly name: string };
}

export function metricTable(): string {
  const { registry } = createMetrics({
    objects: () => [],
    lastCommitAge: () => undefined,
    waitingWrites: () => 0,
    hold: () => undefined,
  });
  createRemoteMetrics(registry, () => undefined);
  createRepositoryMetrics(registry, () => Promise.resolve(undefined));
  createTenantMetrics(registry);
  createSecretSyncMetrics(registry);
  createDeliveryMetrics(registry);
  createConfigMetrics(registry, () => undefined);
  createAuditMetrics(registry, () => ({ events: new Map(), sinks: {} }));
  const counts = { steps: 0, reloads: 0 };
  createReplicaMetrics(registry, { unconfirmedMs: 0, counts, resourceVersion: 0 });
  createRoleMetrics(registry, () => NO_ROLE);
  createFairnessMetrics(registry, () => ({}));
  const metrics = registry.getMetricsAsArray() as unknown as Described[];
  const rows = metrics
    .filter(({ name }) => name.startsWith('gitplane_'))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((metric) => [
      `\`${metric.name}\``,
      metric.type ?? metric.constructor.name.toLowerCase(),
      metric.labelNames.map((label) => `\`${label}\``).join(', '),
      metric.help,
    ]);
  return table(['Metric', 'Type', 'Labels', 'What it tells'], rows);
}

const NO_ROLE = {
  isLeader: false,
  hasLeader: false,
  replicas: 0,
  terms: 0,
  takeoverSeconds: undefined,
  mirrorLag: undefined,
  logBytes: undefined,
  forcedTrims: 0,
};
