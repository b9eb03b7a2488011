/**
 * A leader goes: how long the first write takes that another replica is sent at that moment. Three
 * replicas; killed ones, for which the lease has to end, and those that are told to stop.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fixture } from '../fixture.ts';
import { HttpConnection } from '../http-connection.ts';
import { type ReplicaProcess, type ReplicaProcesses, withReplicas } from '../replica-processes.ts';
import type { Line } from '../report.ts';
import { summarize } from '../statistics.ts';
import { createRequest } from './write.ts';

const REPLICAS = 3;
const KILLED = 10;
const STOPPED = 5;
const GIVE_UP_MS = 60_000;
const AGAIN_AFTER_MS = 50;

type Going = (set: ReplicaProcesses, leader: ReplicaProcess) => Promise<void>;

export async function measureFailover(fixture: Fixture): Promise<Line[]> {
  let made = 0;
  return await withReplicas(fixture, 1, async (set) => {
    await set.start(await fixture.copyOfPlatform());
    while (set.running.length < REPLICAS) await set.start();
    const times = async (count: number, go: Going): Promise<number[]> => {
      const found: number[] = [];
      while (found.length < count) found.push(await failover(fixture, { set, go, made: made++ }));
      return found;
    };
    const killed = await times(KILLED, (all, leader) => all.kill(leader));
    const stopped = await times(STOPPED, (all, leader) => all.stop(leader));
    const line = (name: string, values: number[]): Line[] => {
      const measured = summarize(values);
      const longest = summarize([measured.max]);
      const shortest = summarize([measured.min]);
      return [
        { name: `${name}, of ${values.length}`, unit: 'ms', measured },
        {
          name: 'the shortest, beside the longest',
          unit: 'ms',
          measured: shortest,
          reference: { name: 'the longest', measured: longest },
        },
      ];
    };
    return [
      ...line('leader killed until a write is taken', killed),
      ...line('leader told to stop until a write is taken', stopped),
    ];
  });
}

async function failover(
  fixture: Fixture,
  of: { set: ReplicaProcesses; go: Going; made: number },
): Promise<number> {
  const { set, go, made } = of;
  const leader = await set.leader();
  const other = set.running.find((one) => one !== leader);
  if (other === undefined) throw new Error('There is no other replica');
  const started = performance.now();
  const gone = go(set, leader);
  await untilWritten(other, createRequest(fixture, other.token, made));
  const ms = performance.now() - started;
  await gone;
  await set.start(leader.dataDir);
  return ms;
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
