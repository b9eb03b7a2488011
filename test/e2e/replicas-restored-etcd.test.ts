/** Replicas that start on an etcd of before: until it has what their disks have, they show nothing of it as new. */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { Asker } from '../faults/replicas/ask.ts';
import { API, scratchDir } from '../support/daemon.ts';
import { ETCD_MISSING } from '../support/etcd.ts';
import type { Replica } from '../support/replica.ts';
import { type ReplicaSet, startReplicas } from '../support/replicas.ts';

const TEAMS = `${API}/teams`;
const LONG = { timeout: 60_000, interval: 50 };

const title =
  ETCD_MISSING === undefined
    ? 'an etcd that was put back'
    : `an etcd that was put back (SKIPPED: ${ETCD_MISSING})`;

/** Answers to a client while a replica starts. */
interface Seen {
  /** Fresh reads that did not show what was acknowledged. */
  readonly stale: string[];
  /** Fresh reads that were refused, with their words. */
  readonly refused: string[];
  /** Reads of an acknowledged object that were right. */
  right: number;
}

describe.skipIf(ETCD_MISSING !== undefined)(title, () => {
  let set: ReplicaSet;
  const asker = new Asker();

  afterEach(async () => {
    await set?.stop();
  });

  async function create(at: Replica, name: string): Promise<void> {
    const body = { apiVersion: 'management.gitplane.dev/v1', kind: 'Team', metadata: { name } };
    const make = { method: 'POST', path: TEAMS, body, token: set.token };
    await expect
      .poll(async () => (await asker.ask(at, make).catch(() => undefined))?.code, LONG)
      .toSatisfy((code) => code === 201 || code === 409);
  }

  /** Reads until it is told to stop; `since` says from when an answer of before is wrong. */
  async function read(at: Replica, name: string, isOver: () => boolean): Promise<Seen> {
    const seen: Seen = { stale: [], refused: [], right: 0 };
    const begun = performance.now();
    while (!isOver()) {
      const ask = (path: string) =>
        asker.ask(at, { path, token: set.token, timeoutMs: 5_000 }).catch(() => undefined);
      const ready = await ask('/readyz');
      const got = await ask(`${TEAMS}/${name}`);
      const listed = await ask(TEAMS);
      const when = `${at.name} after ${Math.round(performance.now() - begun)} ms`;
      if (got?.code === 404) seen.stale.push(`${when}: GET is 404`);
      if (ready?.code === 200 && got?.code !== 200)
        seen.stale.push(`${when}: ready, GET is ${got?.code}`);
      const names = listed?.body?.items?.map(
        (one: { metadata: { name: string } }) => one.metadata.name,
      );
      if (names?.includes(name) === false) seen.stale.push(`${when}: the list lacks ${name}`);
      if (got?.code === 503) seen.refused.push(got.text);
      if (got?.code === 200) seen.right += 1;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    return seen;
  }

  /** The disk has the branch with that object, and remembers that etcd had it. */
  async function isOnDisk(at: Replica, name: string): Promise<void> {
    const gitDir = join(at.dataDir, 'repo.git');
    const git = async (...args: string[]) => (await at.daemon.git(args, gitDir)).stdout.trim();
    await expect.poll(() => git('ls-tree', '-r', '--name-only', 'main'), LONG).toContain(name);
    const agreed = async () => await readFile(join(gitDir, 'gitplane/agreed.json'), 'utf8');
    await expect.poll(agreed, LONG).toContain(await git('rev-parse', 'main'));
  }

  test('is not shown as new by replicas that start together with more on their disks', async () => {
    set = await startReplicas({ replicas: 2, members: 1 });
    const leader = await set.elected();
    await create(leader, 'before');
    const snapshot = join(scratchDir(), `${randomUUID()}.snapshot`);
    await set.etcd.save(snapshot);
    for (let i = 0; i < 10; i++) await create(leader, `after-${i}`);
    for (const replica of set.replicas) await isOnDisk(replica, 'after-9');
    await Promise.all(set.replicas.map((replica) => replica.stop('SIGKILL')));
    await set.etcd.restore(snapshot);

    let isOver = false;
    const reading = set.replicas.map((replica) => read(replica, 'after-9', () => isOver));
    await Promise.all(set.replicas.map((replica) => replica.start()));
    for (const replica of set.replicas) {
      const get = { path: `${TEAMS}/after-9`, token: set.token };
      await expect
        .poll(async () => (await asker.ask(replica, get)).code, LONG)
        .toBe(200)
        .catch((error: unknown) => {
          throw new Error(set.output(), { cause: error });
        });
    }
    isOver = true;
    const seen = await Promise.all(reading);

    expect(seen.flatMap(({ stale }) => stale)).toEqual([]);
    for (const { daemon } of set.replicas)
      expect((await daemon.call('GET', '/readyz')).code).toBe(200);
    await create(await set.elected(), 'goes-on');
  });

  test('loses nothing that was acknowledged right before all replicas were killed', async () => {
    set = await startReplicas({ replicas: 2, members: 1 });
    const leader = await set.elected();
    await create(leader, 'before');
    // Every mark is of that commit when the snapshot is taken.
    for (const replica of set.replicas) await isOnDisk(replica, 'before');
    const snapshot = join(scratchDir(), `${randomUUID()}.snapshot`);
    await set.etcd.save(snapshot);

    await create(leader, 'acknowledged');
    await Promise.all(set.replicas.map((replica) => replica.stop('SIGKILL')));
    await set.etcd.restore(snapshot);
    await Promise.all(set.replicas.map((replica) => replica.start()));

    for (const replica of set.replicas) {
      const get = { path: `${TEAMS}/acknowledged`, token: set.token };
      const answers: number[] = [];
      const ask = async (): Promise<number> => {
        answers.push((await asker.ask(replica, get)).code);
        return answers.at(-1) ?? 0;
      };
      await expect.poll(ask, LONG).toBe(200);
      expect(answers).not.toContain(404);
    }
  });

  test('is not shown as new by a replica that serves it when one with more on its disk comes', async () => {
    set = await startReplicas({ replicas: 2, members: 1 });
    const newest = await set.elected();
    const behind = set.replicas.find((one) => one !== newest) as Replica;
    await create(newest, 'before');
    await isOnDisk(behind, 'before');
    expect(await behind.stop()).toBe(0);
    const snapshot = join(scratchDir(), `${randomUUID()}.snapshot`);
    await set.etcd.save(snapshot);
    await create(newest, 'after');
    await isOnDisk(newest, 'after');
    await newest.stop('SIGKILL');
    await set.etcd.restore(snapshot);
    await behind.start();
    const get = { path: `${TEAMS}/after`, token: set.token };
    await expect.poll(async () => (await asker.ask(behind, get)).code, LONG).toBe(404);

    const started = newest.start();
    // A 503 for another reason, such as an election on a busy machine, says nothing of the newest yet.
    await expect
      .poll(() => asker.ask(behind, get).then(({ text }) => text), LONG)
      .toContain('restored to an earlier time');
    let isOver = false;
    const reading = read(behind, 'after', () => isOver);
    await started;
    for (const replica of set.replicas) {
      await expect.poll(async () => (await asker.ask(replica, get)).code, LONG).toBe(200);
    }
    isOver = true;

    const { stale, refused } = await reading;
    expect(stale).toEqual([]);
    expect(refused[0]).toContain('restored to an earlier time');
    const old = await behind.daemon.call('GET', `${TEAMS}?resourceVersion=0`);
    expect(old.code).toBe(200);
  });
});
