/** Public names of `secret-store-sync/`: other folders import this file alone. */
export type { SecretSyncReport, StoreSyncReport } from './report.ts';
export { SecretSync, type SecretSyncOptions } from './secret-sync.ts';
