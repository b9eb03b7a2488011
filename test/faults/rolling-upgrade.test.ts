/**
 * Each of three replicas is told to stop and started again, one after the other, while clients work
 * through whichever are ready: not one request fails, and watches are ended so that they go on
 * elsewhere. Clients do what HTTP lets every client do and no more: a connection that was closed
 * while it was idle is opened again.
 */
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { scratchDir } from '../support/daemon.ts';
import { ETCD_MISSING } from '../support/etcd.ts';
import type { Replica } from '../support/replica.ts';
import { type ReplicaSet, startReplicas } from '../support/replicas.ts';
import { say } from './budget.ts';
import { repositoryOf } from './history.ts';
import { type Asked, Asker, authorityOf, type Question } from './replicas/ask.ts';
import { Balancer } from './replicas/balancer.ts';
import { MERGE_PATCH, TEAMS } from './replicas/scene.ts';

const CLIENTS = 6;
const PATIENCE_MS = 400_000;
/** Nothing was sent, or the connection was closed while it was idle. */
const OPENED_AGAIN = ['ECONNREFUSED', 'ECONNRESET'];
const TRIES = 3;
const title =
  ETCD_MISSING === undefined ? 'a rolling upgrade' : `a rolling upgrade (SKIPPED: ${ETCD_MISSING})`;

/** etcd says so where the machine lets it wait: a leader may be found too late then. */
const ETCD_OVERLOADED = 'leader is overloaded';

interface Noted {
  requests: number;
  reopened: number;
  /** Answers 503 with Retry-After, after which the request was sent again. */
  postponed: number;
  slowestMs: number;
  readonly failures: string[];
  readonly watchEnds: string[];
}

describe.skipIf(ETCD_MISSING !== undefined)(title, () => {
  let set: ReplicaSet | undefined;
  let balancer: Balancer | undefined;

  beforeAll(async () => {
    set = await startReplicas();
    balancer = new Balancer(set);
  }, PATIENCE_MS);
  afterAll(async () => {
    await balancer?.close();
    await set?.stop();
  });

  test(
    'fails no request, and ends every watch politely',
    async () => {
      if (set === undefined || balancer === undefined) throw new Error('There are no replicas');
      const record: Noted = {
        requests: 0,
        reopened: 0,
        postponed: 0,
        slowestMs: 0,
        failures: [],
        watchEnds: [],
      };
      for (const replica of set.replicas) await balancer.untilReady(replica);
      const scene = { set, balancer, record, over: false };
      const work = Array.from({ length: CLIENTS }, (_, index) => useApi(scene, index));
      const watch = useWatch(scene);
      for (const replica of set.replicas) {
        expect(await replica.stop(), replica.output()).toBe(0);
        await replica.start();
        await balancer.untilReady(replica);
        await sleep(300);
      }
      scene.over = true;
      await Promise.all([...work, watch]);

      const { requests, reopened, postponed, slowestMs } = record;
      say(`rolling upgrade: ${requests} requests, ${reopened} reopened, slowest ${slowestMs} ms`);
      if (!set.output().includes(ETCD_OVERLOADED)) expect(postponed, set.output()).toBe(0);
      expect(record.failures, set.output()).toEqual([]);
      expect(record.watchEnds.filter((end) => end !== 'ended')).toEqual([]);
      expect(requests).toBeGreaterThan(50);
    },
    PATIENCE_MS,
  );

  test(
    'a disk and the state key restore everything on an empty etcd',
    async () => {
      if (set === undefined) throw new Error('There are no replicas');
      const [first, second, third] = set.replicas as [Replica, Replica, Replica];
      const { token } = set;
      const before = await identities(second, token);
      expect(before.length).toBeGreaterThan(CLIENTS);
      await expectAllMirrored(set);
      for (const replica of set.replicas) await replica.stop();
      expect((await set.etcd.ctl(['del', '--prefix', ''])).code).toBe(0);
      for (const lost of [first, third]) rmSync(lost.dataDir, { recursive: true });

      await Promise.all(set.replicas.map((replica) => replica.start()));
      for (const replica of set.replicas) expect(await identities(replica, token)).toEqual(before);
    },
    PATIENCE_MS,
  );

  test(
    'a snapshot of etcd that is older than the repositories loses no write, and no version comes back',
    async () => {
      if (set === undefined) throw new Error('There are no replicas');
      const { token, etcd, replicas } = set;
      const snapshot = join(scratchDir(), 'etcd.snapshot');
      await write(set, 'before-the-snapshot');
      await etcd.save(snapshot);
      await write(set, 'after-the-snapshot');
      // The next leader gives out numbers of its own, which the snapshot knows nothing of.
      const leader = await set.elected();
      expect(await leader.stop(), leader.output()).toBe(0);
      await leader.start();
      const versions = [];
      for (let i = 0; i < 10; i++) versions.push(await write(set, `late-${i}`));
      const first = replicas[0] as Replica;
      const before = await identities(first, token);
      await expectAllMirrored(set);

      await etcd.restore(snapshot);
      // They do not go on with an etcd that forgot what it has told them.
      await expect.poll(() => replicas.some(({ isRunning }) => isRunning)).toBe(false);
      rmSync(first.dataDir, { recursive: true });
      await Promise.all(replicas.map((replica) => replica.start()));

      for (const replica of replicas) {
        expect(await identities(replica, token), set.output()).toEqual(before);
      }
      const next = await write(set, 'restored');
      for (const version of versions) {
        expect(next).toBeGreaterThan(version);
        const watch = await openWatch(first, token, String(version));
        expect(await firstLine(watch)).toMatchObject({ type: 'ERROR', object: { code: 410 } });
      }
      await expectAllMirrored(set);
    },
    PATIENCE_MS,
  );
});

/** Returns its version. */
async function write({ replicas, token }: ReplicaSet, name: string): Promise<number> {
  const asker = new Asker();
  const body = { metadata: { name }, spec: {} };
  const headers = { 'idempotency-key': name };
  const question = { method: 'POST', path: TEAMS, body, headers, token };
  const replica = replicas.find(({ isRunning }) => isRunning) as Replica;
  const answer = await asker.ask(replica, question);
  asker.close();
  expect(answer.code, answer.text).toBe(201);
  return Number(answer.body.metadata.resourceVersion);
}

/** A watch that cannot go on says so at once, as its answer or as an event. */
async function firstLine(response: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) {
    text += chunk as string;
    if (text.includes('\n')) break;
  }
  const said = JSON.parse(text.split('\n')[0] ?? '');
  return response.statusCode === 200 ? said : { type: 'ERROR', object: said };
}

/** What must read the same whatever was lost but one disk. */
async function identities(replica: Replica, token: string): Promise<unknown[]> {
  const asker = new Asker();
  try {
    const { body, text } = await asker.ask(replica, { path: TEAMS, token });
    expect(body?.items, text).toBeInstanceOf(Array);
    return body.items.map((item: { metadata: Record<string, unknown>; spec: unknown }) => {
      const { name, uid, generation, creationTimestamp } = item.metadata;
      return { name, uid, generation, creationTimestamp, spec: item.spec };
    });
  } finally {
    asker.close();
  }
}

async function expectAllMirrored({ replicas }: ReplicaSet): Promise<void> {
  const heads = () => Promise.all(replicas.map(({ dataDir }) => repositoryOf(dataDir).head()));
  await expect.poll(async () => new Set(await heads()).size).toBe(1);
}

interface Scene {
  readonly set: ReplicaSet;
  readonly balancer: Balancer;
  readonly record: Noted;
  over: boolean;
}

/** Writes and reads of an object of its own. */
async function useApi(scene: Scene, index: number): Promise<void> {
  const asker = new Asker();
  const name = `client-${index}`;
  const create = { method: 'POST', path: TEAMS, body: { metadata: { name }, spec: {} } };
  await ask(scene, asker, { ...create, headers: { 'idempotency-key': name } });
  for (let i = 0; !scene.over; i++) {
    const spec = { displayName: `value-${i}` };
    await ask(scene, asker, {
      method: 'PATCH',
      path: `${TEAMS}/${name}`,
      body: { spec },
      type: MERGE_PATCH,
      headers: { 'idempotency-key': `${name}-${i}` },
    });
    const seen = await ask(scene, asker, { path: `${TEAMS}/${name}` });
    if (seen !== undefined && seen.body?.spec?.displayName !== spec.displayName) {
      scene.record.failures.push(`${name} is not ${spec.displayName} but ${seen.text}`);
    }
    await sleep(5);
  }
  asker.close();
}

/**
 * A connection that was closed as the request was sent is opened again, as Go's client does (the
 * request has a key), and one that was refused is opened elsewhere, as load balancers do. A request
 * that is answered with Retry-After is sent again after that time.
 */
async function ask(
  scene: Scene,
  asker: Asker,
  question: Omit<Question, 'token'>,
): Promise<Asked | undefined> {
  const { balancer, record, set } = scene;
  const begun = performance.now();
  for (let tries = 0; ; tries++) {
    const replica = balancer.next();
    if (replica === undefined) {
      record.failures.push('no replica is ready');
      return undefined;
    }
    try {
      const answer = await asker.ask(replica, { ...question, token: set.token });
      record.requests += 1;
      record.slowestMs = Math.max(record.slowestMs, Math.round(performance.now() - begun));
      const after = Number(answer.headers['retry-after']);
      if (answer.code === 503 && after > 0 && tries < TRIES) {
        record.postponed += 1;
        await sleep(after * 1000);
        continue;
      }
      if (answer.code >= 300) {
        record.failures.push(`${question.method ?? 'GET'}: ${answer.code} ${answer.text}`);
      }
      return answer;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (tries < TRIES && OPENED_AGAIN.includes(code ?? '')) {
        record.reopened += 1;
        continue;
      }
      record.failures.push(`${question.method ?? 'GET'} at ${replica.name}: ${String(error)}`);
      return undefined;
    }
  }
}

/** Goes on at another replica whenever it is ended; sees each version once, in order. */
async function useWatch(scene: Scene): Promise<void> {
  const { set, balancer, record } = scene;
  const asker = new Asker();
  const list = await ask(scene, asker, { path: TEAMS });
  asker.close();
  let version = String(list?.body.metadata.resourceVersion);
  while (!scene.over) {
    const replica = balancer.next();
    if (replica === undefined) continue;
    const response = await openWatch(replica, set.token, version);
    if (response.statusCode !== 200) record.watchEnds.push(`${response.statusCode}`);
    const look = setInterval(() => scene.over && response.destroy(), 50);
    let rest = '';
    try {
      for await (const chunk of response.setEncoding('utf8')) {
        const lines = (rest + (chunk as string)).split('\n');
        rest = lines.pop() ?? '';
        for (const { type, object } of lines.map((line) => JSON.parse(line))) {
          const next = object.metadata?.resourceVersion ?? '';
          if (type === 'ERROR') record.watchEnds.push(JSON.stringify(object));
          else if (Number(next) <= Number(version)) {
            record.failures.push(`a watch has ${type} at ${next} after ${version}`);
          } else version = next;
        }
      }
      record.watchEnds.push('ended');
    } catch (error) {
      if (!scene.over) record.watchEnds.push(String(error));
    }
    clearInterval(look);
  }
}

async function openWatch(
  replica: Replica,
  token: string,
  version: string,
): Promise<IncomingMessage> {
  const sent = request({
    host: replica.place.host,
    port: replica.port,
    path: `${TEAMS}?watch=true&resourceVersion=${version}`,
    headers: { authorization: `Bearer ${token}` },
    ca: authorityOf(replica),
    agent: false,
  });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return response;
}
