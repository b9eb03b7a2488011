/** Public names of `etcd/`: other folders import this file alone. */
export { compactPeriodically } from './compaction.ts';
export type {
  Compare,
  Etcd,
  EtcdWatch,
  KeyValue,
  Lease,
  Operation,
  RemoteEtcd,
  WatchBatch,
  WatchEvent,
} from './etcd.ts';
export { CompactedRevisionError, EtcdError } from './etcd-error.ts';
export type { EtcdOptions, EtcdTls } from './etcd-options.ts';
export { openEtcd } from './open-etcd.ts';
