/** Places in a real etcd to keep state in; one etcd a test file. */
import type { Etcd } from '../../../../src/etcd/etcd.ts';
import { openEtcd } from '../../../../src/etcd/open-etcd.ts';
import type { StateEngine } from '../../../../src/state/engines/engine.ts';
import {
  type EtcdEngineOptions,
  openEtcdEngine,
} from '../../../../src/state/engines/etcd/engine.ts';
import { openStore } from '../../../../src/state/open-store.ts';
import type { EngineHarness } from '../../../conformance/state-engine.ts';
import type { StoreHarness } from '../../../conformance/store/fixture.ts';
import { type EtcdCluster, startEtcd } from '../../../support/etcd.ts';
import { fail, testCodec } from '../../harnesses.ts';

let running: Promise<{ cluster: EtcdCluster; etcd: Etcd }> | undefined;
let places = 0;

/** The one of this file, started when it is asked for first. */
export function sharedEtcd(): Promise<{ cluster: EtcdCluster; etcd: Etcd }> {
  running ??= (async () => {
    const cluster = await startEtcd({ noFsync: true });
    return { cluster, etcd: await openEtcd({ endpoints: cluster.endpoints }) };
  })();
  return running;
}

/** To be called after all tests of a file. */
export async function stopSharedEtcd(): Promise<void> {
  const started = await running;
  await started?.etcd.close();
  await started?.cluster.stop();
}

/** Where nothing was before. */
export function freshPrefix(): string {
  return `/place-${places++}/`;
}

export function openAt(
  etcd: Etcd,
  prefix: string,
  options: Partial<EtcdEngineOptions> = {},
): Promise<StateEngine> {
  return openEtcdEngine({ etcd, prefix, onError: fail, ...options });
}

/** Everything below a prefix as it is at one revision, below another one. */
export async function copyPlace(etcd: Etcd, from: string, to: string): Promise<void> {
  for await (const { key, value } of etcd.scan({ key: from, prefix: true })) {
    const put = to + key.slice(from.length);
    await etcd.txn({ compare: [], operations: [{ put, value }] });
  }
}

export async function etcdHarness(): Promise<EngineHarness> {
  const { etcd } = await sharedEtcd();
  const prefix = freshPrefix();
  return {
    open: () => openAt(etcd, prefix),
    openCopy: async () => {
      const copy = freshPrefix();
      await copyPlace(etcd, prefix, copy);
      return openAt(etcd, copy);
    },
    dispose: async () => {
      await etcd.txn({ compare: [], operations: [{ remove: prefix, prefix: true }] });
    },
  };
}

/** After a crash the store of before lives on, and nothing of it arrives any more. */
export async function etcdStoreHarness(): Promise<StoreHarness> {
  const { etcd } = await sharedEtcd();
  const prefix = freshPrefix();
  let living = { isDead: false };
  return {
    open: async (setup) => {
      const life = { isDead: false };
      living = life;
      // It believes that all is well.
      const lie = { succeeded: true, revision: 1n, ranges: [] };
      const mortal: Etcd = {
        ...bound(etcd),
        txn: (request) => (life.isDead ? Promise.resolve(lie) : etcd.txn(request)),
      };
      const engine = await openAt(mortal, prefix);
      return openStore({ codec: testCodec, onError: fail, ...setup, engine });
    },
    crash: () => {
      living.isDead = true;
    },
    dispose: async () => undefined,
  };
}

/** Its methods as functions, for others to wrap. */
export function bound(etcd: Etcd): Etcd {
  return {
    place: etcd.place,
    range: (request) => etcd.range(request),
    scan: (request) => etcd.scan(request),
    txn: (request) => etcd.txn(request),
    watch: (request) => etcd.watch(request),
    grant: (ttlSeconds) => etcd.grant(ttlSeconds),
    compact: (revision) => etcd.compact(revision),
    close: () => etcd.close(),
  };
}
