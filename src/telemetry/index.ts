/** Public names of `telemetry/`: other folders import this file alone. */
export { createAuditMetrics } from './audit-metrics.ts';
export { type ConfigMetrics, createConfigMetrics } from './config-metrics.ts';
export { createDeliveryMetrics } from './delivery-metrics.ts';
export { createFairnessMetrics } from './fairness-metrics.ts';
export {
  createLogger,
  LOG_FORMATS,
  LOG_LEVELS,
  type Logger,
  type LogOptions,
  type LogStream,
  openLogger,
} from './logger.ts';
export { createMetrics, type Metrics, scrapeReplica } from './metrics.ts';
export { createRemoteMetrics, type RemoteMetrics } from './remote-metrics.ts';
export { createReplicaMetrics } from './replica-metrics.ts';
export { createRepositoryMetrics } from './repository-metrics.ts';
export type { RequestLabels } from './request-durations.ts';
export { createRoleMetrics, type RoleSnapshot } from './role-metrics.ts';
export {
  createSecretSyncMetrics,
  type SecretSyncFacts,
  type SecretSyncMetrics,
} from './secret-sync-metrics.ts';
export { SlowSteps } from './slow-steps.ts';
export { createSuspensionMetrics } from './suspension-metrics.ts';
export { createTenantMetrics, type TenantMetrics } from './tenant-metrics.ts';
