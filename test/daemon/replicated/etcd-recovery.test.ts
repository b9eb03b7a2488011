/** Recovery of an etcd that was restored from a snapshot: what a replica with more on its disk offers, and until when. */
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { EtcdRecovery } from '../../../src/daemon/replicated/etcd-recovery.ts';
import type { Etcd } from '../../../src/etcd/etcd.ts';
import { openEtcd } from '../../../src/etcd/open-etcd.ts';
import { Cluster } from '../../../src/replication/cluster.ts';
import { keysBelow } from '../../../src/replication/keys.ts';
import {
  openReplicaCoordination,
  type ReplicaCoordination,
} from '../../../src/replication/replica-coordination.ts';
import { aborted } from '../../../src/replication/session.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { ETCD_MISSING, type EtcdCluster, startEtcd } from '../../support/etcd.ts';

const keys = keysBelow('/recovery/');
const AHEAD = 'a'.repeat(40);

describe.skipIf(ETCD_MISSING !== undefined)(`offers to etcd ${ETCD_MISSING ?? ''}`, () => {
  let server: EtcdCluster;
  const open: { close(): Promise<void> }[] = [];

  beforeAll(async () => {
    server = await startEtcd({ members: 1, noFsync: true });
  });

  afterEach(async () => {
    for (const one of open.splice(0).reverse()) await one.close();
  });

  afterAll(async () => await server.stop());

  async function replica(id: string): Promise<{ etcd: Etcd; link: ReplicaCoordination }> {
    const etcd = await openEtcd({ endpoints: server.endpoints });
    open.push(etcd);
    const self = { id, peer: `${id}:1`, url: `https://${id}`, version: '1' };
    const onRejoin = (): void => undefined;
    const logger = createLogger('silent');
    const link = openReplicaCoordination({
      etcd,
      keys,
      self,
      leaseSeconds: 2,
      logger,
      onRejoin,
    });
    open.push(link);
    return { etcd, link };
  }

  test('an offer outlives a leader that has less, which is deposed, and not one that has as much', async () => {
    const behind = await replica('behind');
    const newest = await replica('newest');
    let isReady: (() => void) | undefined;
    const toldReady = new Promise<void>((resolve) => {
      isReady = resolve;
    });
    behind.link.lead({
      eligible: async () => undefined,
      run: async (term, by) => {
        const over = aborted(term.signal, by.resigning);
        await Promise.race([toldReady, over]);
        await by.ready();
        await over;
      },
    });
    await vi.waitFor(() => expect(newest.link.leader?.id).toBe('behind'));
    let ahead: string | undefined = AHEAD;
    const cluster = new Cluster(newest.etcd, keys);
    const offering = new EtcdRecovery({
      self: 'newest',
      cluster,
      link: newest.link,
      repository: { isEmpty: async () => false, commits: async () => 2 },
      mirror: { ahead: async () => ahead },
    });
    open.push(offering);
    const seen: boolean[] = [];
    const watched = new Cluster(behind.etcd, keys).followRecovery((isBehind) => {
      if (seen.at(-1) !== isBehind) seen.push(isBehind);
    });
    open.push(watched);
    await vi.waitFor(() => expect(seen).toEqual([false]));

    // The election came before the offer; the leader takes writes after it.
    const first = newest.link.leader?.term;
    const competing = offering.compete();
    await vi.waitFor(() => expect(seen).toEqual([false, true]));
    const checked = offering.current();
    isReady?.();
    await vi.waitFor(() => expect(newest.link.leader?.term).not.toBe(first));
    expect(seen).toEqual([false, true]);

    ahead = undefined;
    await vi.waitFor(() => expect(newest.link.leader?.ready).toBe(true));
    await vi.waitFor(() => expect(seen).toEqual([false, true, false]));
    await Promise.all([competing, checked]);
    expect(offering.problem).toBeUndefined();
  });
});
