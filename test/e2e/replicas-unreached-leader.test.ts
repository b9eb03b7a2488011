/** A leader whose advertised address nobody reaches, though etcd does: it writes for itself, and lets another lead. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Asked, Asker } from '../faults/replicas/ask.ts';
import { API } from '../support/daemon.ts';
import { ETCD_MISSING } from '../support/etcd.ts';
import type { Replica } from '../support/replica.ts';
import { type ReplicaSet, startReplicas } from '../support/replicas.ts';

const TEAMS = `${API}/teams`;
const LONG = { timeout: 30_000, interval: 50 };
/** Three questions that nobody answers, and a takeover, on a machine that is busy. */
const MOVES_WITHIN = { timeout: 25_000, interval: 50 };
const OWN_WRITE_MS = 3_000;

const title =
  ETCD_MISSING === undefined
    ? 'a leader that nobody reaches'
    : `a leader that nobody reaches (SKIPPED: ${ETCD_MISSING})`;

describe.skipIf(ETCD_MISSING !== undefined)(title, () => {
  let set: ReplicaSet;
  let asker: Asker;
  let count = 0;

  beforeAll(async () => {
    set = await startReplicas({ replicas: 3, members: 1 });
    asker = new Asker();
  });

  afterAll(async () => {
    asker?.close();
    await set?.stop();
  });

  async function create(
    at: Replica,
  ): Promise<Asked & { readonly name: string; readonly ms: number }> {
    const name = `t${count++}`;
    const body = { apiVersion: 'management.gitplane.dev/v1', kind: 'Team', metadata: { name } };
    const begun = performance.now();
    const make = { method: 'POST', path: TEAMS, body, token: set.token, timeoutMs: 60_000 };
    const answer = await asker.ask(at, make);
    return { ...answer, name, ms: performance.now() - begun };
  }

  test('answers its own clients, lets another lead, and every request ends', async () => {
    const old = await set.elected();
    const others = set.replicas.filter((one) => one !== old);
    for (const replica of set.replicas) {
      await expect.poll(async () => (await create(replica)).code, LONG).toBe(201);
    }
    const pid = old.daemon.process.pid;

    old.toPeer.blackhole();
    const cutOff = Promise.all(others.flatMap((one) => [create(one), create(one)]));
    const own = await create(old);
    expect([own.code, own.code === 201 ? '' : own.text]).toEqual([201, '']);
    expect(own.ms).toBeLessThan(OWN_WRITE_MS);
    await expect.poll(async () => (await set.leader()) ?? old, MOVES_WITHIN).not.toBe(old);
    for (const answer of await cutOff) {
      expect([201, 503]).toContain(answer.code);
      if (answer.code === 503) expect(answer.headers['retry-after']).toMatch(/^\d+$/);
      expect(answer.ms).toBeLessThan(MOVES_WITHIN.timeout);
    }
    for (const replica of set.replicas) {
      await expect.poll(async () => (await create(replica)).code, LONG).toBe(201);
    }
    // Nothing that was acknowledged is lost, and it does not take the lead back while it is cut off.
    for (const replica of set.replicas) {
      const read = await asker.ask(replica, { path: `${TEAMS}/${own.name}`, token: set.token });
      expect(read.code).toBe(200);
    }
    expect(await set.elected()).not.toBe(old);

    old.toPeer.heal();
    await expect.poll(async () => (await create(old)).code, LONG).toBe(201);
    expect(old.daemon.process.pid).toBe(pid);
    expect(old.isRunning).toBe(true);
  });

  test('keeps leading while only a replica that does not lead is cut off', async () => {
    const leader = await set.elected();
    const other = set.replicas.find((one) => one !== leader) as Replica;
    other.toPeer.blackhole();
    await new Promise((resolve) => setTimeout(resolve, 6_000));
    expect(await set.elected()).toBe(leader);
    expect((await create(other)).code).toBe(201);
    other.toPeer.heal();
  });
});
