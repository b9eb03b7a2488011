/** Public names of `secret-store-sync/`. */
export type { SecretSyncReport, StoreSyncReport } from './report.ts';
export { SecretSync, type SecretSyncOptions } from './secret-sync.ts';
