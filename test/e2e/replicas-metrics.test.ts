/** Metrics of replicas while etcd does not answer: no replica claims that one leads. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ETCD_MISSING } from '../support/etcd.ts';
import type { Replica } from '../support/replica.ts';
import { type ReplicaSet, startReplicas } from '../support/replicas.ts';

const LONG = { timeout: 30_000, interval: 100 };

const title =
  ETCD_MISSING === undefined
    ? 'replicas without etcd'
    : `replicas without etcd (SKIPPED: ${ETCD_MISSING})`;

describe.skipIf(ETCD_MISSING !== undefined)(title, () => {
  let set: ReplicaSet;

  beforeAll(async () => {
    set = await startReplicas({ replicas: 2, members: 1 });
  });

  afterAll(async () => await set?.stop());

  async function metric(of: Replica, name: string): Promise<number> {
    const { text } = await of.daemon.call('GET', '/metrics', { token: set.token });
    return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
  }

  async function leaders(): Promise<number> {
    const each = await Promise.all(set.replicas.map((one) => metric(one, 'gitplane_leader')));
    return each.reduce((sum, one) => sum + one, 0);
  }

  test('have no leader in their metrics, and have one again with etcd', async () => {
    await set.elected();
    for (const one of set.replicas) {
      await expect.poll(() => metric(one, 'gitplane_has_leader'), LONG).toBe(1);
    }
    expect(await leaders()).toBe(1);

    for (const member of set.etcd.members) member.pause();
    for (const one of set.replicas) {
      await expect.poll(() => metric(one, 'gitplane_has_leader'), LONG).toBe(0);
    }
    expect(await leaders()).toBe(0);

    for (const member of set.etcd.members) member.resume();
    for (const one of set.replicas) {
      await expect.poll(() => metric(one, 'gitplane_has_leader'), LONG).toBe(1);
    }
    await expect.poll(leaders, LONG).toBe(1);
  });
});
