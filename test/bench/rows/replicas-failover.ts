/**
 * A leader goes: how long the first write takes that another replica is sent at that moment. Three
 * replicas on three members of etcd; killed ones, for which the lease has to end, and those that are
 * told to stop. Beside it, on the same etcd: the holder of a lease as long is killed, until the next one
 * has the key.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Etcd } from '../../../src/etcd/etcd.ts';
import type { Fixture } from '../fixture.ts';
import { HttpConnection } from '../http-connection.ts';
import { type ReplicaProcess, type ReplicaProcesses, withReplicas } from '../replica-processes.ts';
import type { Goal, Line } from '../report.ts';
import { type Summary, summarize, timed } from '../statistics.ts';
import { createRequest } from './write.ts';

const REPLICAS = 3;
const KILLED = 50;
const STOPPED = 30;
/** As `--leader-lease` unless told otherwise. */
const LEASE_SECONDS = 3;
const RENEWED_EVERY_MS = (LEASE_SECONDS * 1000) / 3;
const GIVE_UP_MS = 60_000;
const AGAIN_AFTER_MS = 50;
const KEY = 'bench/leader';
const ETCDCTL = 'etcdctl';

type Going = (set: ReplicaProcesses, leader: ReplicaProcess) => Promise<unknown>;

export async function measureFailover(fixture: Fixture): Promise<Line[]> {
  let made = 0;
  return await withReplicas(fixture, 3, async (set) => {
    const lease: number[] = [];
    while (lease.length < KILLED) lease.push(await leaseFailover(fixture, set));
    await set.start(await fixture.copyOfPlatform());
    while (set.running.length < REPLICAS) await set.start();
    const times = async (count: number, go: Going): Promise<number[]> => {
      const found: number[] = [];
      while (found.length < count) found.push(await failover(fixture, { set, go, made: made++ }));
      return found;
    };
    const killed = summarize(await times(KILLED, (all, leader) => all.kill(leader)));
    const stopped = summarize(await times(STOPPED, stopWell));
    const reference = { name: `etcd: lease of ${LEASE_SECONDS} s`, measured: summarize(lease) };
    return [
      {
        name: `leader killed until a write is taken, of ${KILLED}`,
        unit: 'ms',
        measured: killed,
        reference,
        goal: within(killed, { p50: LEASE_SECONDS + 1, p99: LEASE_SECONDS + 2 }),
      },
      {
        name: `leader told to stop until then, of ${STOPPED}`,
        unit: 'ms',
        measured: stopped,
        goal: within(stopped, { p50: 1, p99: 1 }),
      },
    ];
  });
}

/** Seconds. */
function within({ median, p99 }: Summary, most: { p50: number; p99: number }): Goal {
  return {
    text: `≤ ${most.p50} / ${most.p99} s`,
    met: median <= most.p50 * 1000 && p99 <= most.p99 * 1000,
  };
}

async function stopWell(set: ReplicaProcesses, leader: ReplicaProcess): Promise<void> {
  const code = await set.stop(leader);
  if (code !== 0) throw new Error(`A leader that was told to stop ended with ${code}`);
}

async function failover(
  fixture: Fixture,
  of: { set: ReplicaProcesses; go: Going; made: number },
): Promise<number> {
  const { set, go, made } = of;
  const leader = await set.leader();
  const other = set.running.find((one) => one !== leader);
  if (other === undefined) throw new Error('There is no other replica');
  await anyMoment();
  const started = performance.now();
  const gone = go(set, leader);
  await untilWritten(other, createRequest(fixture, other.token, made));
  const ms = performance.now() - started;
  await gone;
  await set.start(leader.dataDir);
  return ms;
}

/** A lease is renewed every third of its life: how much of it is left when its holder goes is chance. */
async function anyMoment(): Promise<void> {
  await sleep(Math.random() * RENEWED_EVERY_MS);
}

/** 409 is the answer to a write that had been taken although its answer was lost. */
async function untilWritten(replica: ReplicaProcess, request: Buffer): Promise<void> {
  const end = performance.now() + GIVE_UP_MS;
  while (performance.now() < end) {
    const connection = await HttpConnection.open(replica.http);
    const { status } = await connection.send(request, true);
    connection.close();
    if (status === 201 || status === 409) return;
    await sleep(AGAIN_AFTER_MS);
  }
  throw new Error(`No write was taken for ${GIVE_UP_MS} ms`);
}

/** The holder is a process of its own: etcdctl, which renews a lease that a key is bound to. */
async function leaseFailover(
  { workspace }: Fixture,
  { etcd, client }: ReplicaProcesses,
): Promise<number> {
  const ctl = [`--endpoints=${etcd.endpoints.join(',')}`];
  const { stdout } = await run(ETCDCTL, [...ctl, 'lease', 'grant', String(LEASE_SECONDS)], API);
  const id = /lease ([0-9a-f]+) granted/.exec(stdout)?.[1];
  if (id === undefined) throw new Error(`etcdctl granted no lease: ${stdout}`);
  await run(ETCDCTL, [...ctl, 'put', KEY, 'holder', `--lease=${id}`], API);
  const args = [...ctl, 'lease', 'keep-alive', id];
  const stdio: ['ignore', 'pipe', 'ignore'] = ['ignore', 'pipe', 'ignore'];
  const holder = workspace.adopt(spawn(ETCDCTL, args, { ...API, stdio }));
  const next = await watchKey(client);
  await renewed(holder);
  await anyMoment();
  const { ms } = await timed(() => Promise.all([next.told(), holder.kill('SIGKILL')]));
  await client.txn({ compare: [], operations: [{ remove: KEY }] });
  return ms;
}

const API = { timeout: 10_000 };
const run = promisify(execFile);

async function renewed({ stdout }: ChildProcess): Promise<void> {
  if (stdout !== null) await once(stdout, 'data');
}

/** The next one: it is told that the key is gone, and puts its own. */
async function watchKey(client: Etcd): Promise<{ told: () => Promise<void> }> {
  const { revision } = await client.range({ key: KEY });
  const watch = client.watch({ key: KEY, from: revision + 1n });
  const told = async (): Promise<void> => {
    for await (const { events } of watch) {
      if (events.some(({ type }) => type === 'delete')) break;
    }
    const put = { put: KEY, value: Buffer.from('next') };
    const compare = [{ key: KEY, createRevision: 0n }];
    const { succeeded } = await client.txn({ compare, operations: [put] });
    if (!succeeded) throw new Error('Another has the key of the reference');
  };
  return { told };
}
