import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Etcd } from '../../src/etcd/etcd.ts';
import { openEtcd } from '../../src/etcd/open-etcd.ts';
import { campaign, type LeaderTerm } from '../../src/replication/election.ts';
import { isHandedOver } from '../../src/replication/hand-over.ts';
import { keysBelow } from '../../src/replication/keys.ts';
import { ReadLease } from '../../src/replication/read-lease.ts';
import { openEtcdEngine } from '../../src/state/engines/etcd/engine.ts';
import { ETCD_MISSING, type EtcdCluster, startEtcd } from '../support/etcd.ts';

const self = { id: 'a', peer: 'a:1', url: 'https://a', version: '1', ready: false };

describe.skipIf(ETCD_MISSING !== undefined)(`a hand-over ${ETCD_MISSING ?? ''}`, () => {
  let cluster: EtcdCluster;
  let etcd: Etcd;
  const undo: (() => Promise<unknown>)[] = [];
  let count = 0;

  beforeAll(async () => {
    cluster = await startEtcd({ noFsync: true });
    etcd = await openEtcd({ endpoints: cluster.endpoints });
  });

  afterEach(async () => {
    for (const step of undo.splice(0).reverse()) await step();
  });

  afterAll(async () => {
    await etcd.close();
    await cluster.stop();
  });

  function platform() {
    const keys = keysBelow(`/h${count++}/`);
    const elect = async (): Promise<LeaderTerm> => {
      const lease = await etcd.grant(5);
      undo.push(() => lease.revoke());
      const term = await campaign({ etcd, key: keys.leader, lease, data: self });
      if (term === undefined) throw new Error('Another leads');
      return term;
    };
    const openState = async ({ fence }: LeaderTerm) => {
      const prefix = keys.platformState;
      const engine = await openEtcdEngine({ etcd, prefix, fence, onError: () => undefined });
      undo.push(() => engine.close().catch(() => undefined));
      return engine;
    };
    const handedOver = (): Promise<boolean> => isHandedOver(etcd, keys);
    return { keys, elect, openState, handedOver };
  }

  test('is found by the next leader, before that opens the state', async () => {
    const { keys, elect, openState, handedOver } = platform();
    expect(await handedOver()).toBe(false);
    const first = await elect();
    await openState(first);

    await first.giveUp(keys.handedOver);
    const next = await elect();

    expect(await handedOver()).toBe(true);
    await openState(next);
    expect(await handedOver()).toBe(false);
  });

  test('does not speak for a leader that came later and was killed', async () => {
    const { keys, elect, openState, handedOver } = platform();
    const first = await elect();
    await openState(first);
    await first.giveUp(keys.handedOver);
    const killed = await elect();
    await openState(killed);
    // As when its lease ends.
    await cluster.ctl(['del', keys.leader]);

    await elect();

    expect(await handedOver()).toBe(false);
  });

  test('is not left by a term that another one has followed', async () => {
    const { keys, elect, handedOver } = platform();
    const first = await elect();
    await cluster.ctl(['del', keys.leader]);
    await elect();

    await first.giveUp(keys.handedOver);

    expect(first.isHeld()).toBe(false);
    expect(await handedOver()).toBe(false);
  });

  test('ends what the leader says of the newest before etcd hears of it', async () => {
    const { keys, elect } = platform();
    const term = await elect();
    const lease = new ReadLease({ etcd, key: keys.leader, term, isHandedOver: true });
    await lease.begins;
    expect(await lease.confirm()).toBe(true);

    const givenUp = term.giveUp(keys.handedOver);

    expect(lease.isValid()).toBe(false);
    await givenUp;
  });
});
