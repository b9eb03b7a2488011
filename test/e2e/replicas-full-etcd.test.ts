/** Writes to replicas whose etcd has used up its quota: refused at once, and taken again without a restart. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, API } from '../support/daemon.ts';
import { ETCD_MISSING } from '../support/etcd.ts';
import { type ReplicaSet, startReplicas } from '../support/replicas.ts';

const TEAMS = `${API}/teams`;
const LONG = { timeout: 30_000, interval: 50 };
const QUOTA = 16 * 2 ** 20;
const AT_ONCE_MS = 4_000;

const title = ETCD_MISSING === undefined ? 'a full etcd' : `a full etcd (SKIPPED: ${ETCD_MISSING})`;

describe.skipIf(ETCD_MISSING !== undefined)(title, () => {
  let set: ReplicaSet;

  beforeAll(async () => {
    set = await startReplicas({ replicas: 2, members: 1, quota: QUOTA });
  });

  afterAll(async () => {
    await set?.stop();
  });

  async function create(name: string, index = 0): Promise<Answer & { readonly ms: number }> {
    const body = { apiVersion: 'management.gitplane.dev/v1', kind: 'Team', metadata: { name } };
    const begun = performance.now();
    const answer = await set.replicas[index]?.daemon.call('POST', TEAMS, { body });
    if (answer === undefined) throw new Error('there is no such replica');
    return { ...answer, ms: performance.now() - begun };
  }

  async function fill(): Promise<void> {
    const input = 'x'.repeat(2 ** 20);
    for (let i = 0; i < 40; i++) {
      const { code } = await set.etcd.ctl(['put', `junk/${i}`], { input });
      if (code !== 0) return;
    }
    throw new Error('etcd took more than its quota');
  }

  async function makeRoom(): Promise<void> {
    await set.etcd.ctl(['del', '--prefix', 'junk/']);
    await set.etcd.compact();
    await set.etcd.defragment();
    expect((await set.etcd.ctl(['alarm', 'disarm'])).code).toBe(0);
  }

  test('answers writes and pushes at once with the remedy, and takes them after the alarm', async () => {
    const leader = await set.elected();
    await expect.poll(async () => (await create('before')).code, LONG).toBe(201);
    const clone = await leader.daemon.clone();
    await fill();
    expect((await set.etcd.ctl(['lease', 'grant', '5'])).stderr).toContain('space exceeded');

    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, i) => create(`full-${i}`, i % 2)),
    );

    expect(answers.map(({ code }) => code)).toEqual(answers.map(() => 507));
    expect(Math.max(...answers.map(({ ms }) => ms))).toBeLessThan(AT_ONCE_MS);
    for (const { text } of answers) {
      expect(text).toContain('nothing was written');
      expect(text).toMatch(/etcdctl defrag.*--quota-backend-bytes.*etcdctl alarm disarm/);
    }
    await writeFile(join(clone, 'pushed.txt'), 'one\n');
    await leader.daemon.git(['add', '-A'], clone);
    await leader.daemon.git(['commit', '-qm', 'Pushed'], clone);
    const refused = await leader.daemon.git(['push'], clone);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain('etcdctl alarm disarm');
    const read = await leader.daemon.call('GET', `${TEAMS}/before`);
    expect(read.code).toBe(200);
    for (const { daemon } of set.replicas) {
      expect((await daemon.call('GET', `${TEAMS}/full-0`)).code).toBe(404);
    }

    await makeRoom();
    await expect.poll(async () => (await leader.daemon.git(['push'], clone)).code, LONG).toBe(0);
    await expect.poll(async () => (await create('after')).code, LONG).toBe(201);
    expect(await set.elected()).toBe(leader);
    for (const { daemon } of set.replicas) {
      expect((await daemon.call('GET', `${TEAMS}/after`)).code).toBe(200);
    }
  });
});
