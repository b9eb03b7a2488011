/** Every row, in the order of the table. */
import { kubeApiserverMissing } from './kube-apiserver-process.ts';
import { type Measure, needing } from './needing.ts';
import { onEtcd } from './replica-processes.ts';
import { measureAudit } from './rows/audit.ts';
import { measureAuth } from './rows/auth.ts';
import { measureEngine } from './rows/engine.ts';
import { measureHistory } from './rows/history.ts';
import { measureIsolation } from './rows/isolation.ts';
import { measureKubeApiserver } from './rows/kube-apiserver.ts';
import { measureLoop } from './rows/loop.ts';
import { measureMaintenance } from './rows/maintenance.ts';
import { measurePatches } from './rows/patches.ts';
import { measurePush } from './rows/push.ts';
import { measureRead } from './rows/read.ts';
import { measureFailover } from './rows/replicas-failover.ts';
import { measureReplicasRead } from './rows/replicas-read.ts';
import { measureRefill } from './rows/replicas-refill.ts';
import { measureReplicasWatch } from './rows/replicas-watch.ts';
import { measureReplicasWrite } from './rows/replicas-write.ts';
import { measureRoads } from './rows/roads.ts';
import { measureScale } from './rows/scale.ts';
import { measureSeal } from './rows/seal.ts';
import { measureSecretStore } from './rows/secret-store.ts';
import { measureSelect } from './rows/select.ts';
import { measureStart } from './rows/start.ts';
import { measureThroughput } from './rows/throughput.ts';
import { measureWatch } from './rows/watch.ts';
import { measureWide } from './rows/wide.ts';
import { measureWrite } from './rows/write.ts';

export const ROWS: ReadonlyMap<string, Measure> = new Map([
  ['start', measureStart],
  ['push', measurePush],
  ['roads', measureRoads],
  ['write', measureWrite],
  ['throughput', measureThroughput],
  ['wide', measureWide],
  ['scale', measureScale],
  ['read', measureRead],
  ['select', measureSelect],
  ['watch', measureWatch],
  ['auth', measureAuth],
  ['audit', measureAudit],
  ['isolation', measureIsolation],
  ['history', measureHistory],
  ['maintenance', measureMaintenance],
  ['engine', measureEngine],
  ['patches', measurePatches],
  ['loop', measureLoop],
  ['seal', measureSeal],
  ['secrets', measureSecretStore],
  onEtcd('refill', measureRefill),
  onEtcd('replicas-read', measureReplicasRead),
  onEtcd('replicas-write', measureReplicasWrite),
  onEtcd('replicas-watch', measureReplicasWatch),
  onEtcd('failover', measureFailover),
  needing(kubeApiserverMissing, 'kube-apiserver', measureKubeApiserver),
]);
