/** One create after another, through the leader's replica and through another, in turn. */
import type { Etcd } from '../../../src/etcd/etcd.ts';
import type { DaemonProcess } from '../daemon-process.ts';
import type { Fixture } from '../fixture.ts';
import { HttpConnection } from '../http-connection.ts';
import { assertStatus, throughput } from '../load.ts';
import { withReplicas } from '../replica-processes.ts';
import type { Line } from '../report.ts';
import { type Summary, summarize, timed } from '../statistics.ts';
import { createRequest } from './write.ts';

const WRITES = 150;
/** V8 compiles meanwhile. */
const WARM_UP_MS = 4000;
const CLIENTS = 16;

interface Samples {
  readonly leader: Summary;
  readonly follower: Summary;
  readonly put: Summary;
}

export async function measureReplicasWrite(fixture: Fixture): Promise<Line[]> {
  const embedded = { name: 'embedded', measured: await embeddedWrites(fixture) };
  const lines: Line[] = [];
  for (const members of [1, 3] as const) {
    const { leader, follower, put } = await replicatedWrites(fixture, members);
    const on = `etcd of ${members}`;
    const bare = { name: 'a put of the same size in etcd', measured: put };
    lines.push(
      { name: `create by the leader, ${on}`, unit: 'ms', measured: leader, reference: embedded },
      { name: `create by another, ${on}`, unit: 'ms', measured: follower, reference: embedded },
      { name: `create by the leader, ${on}`, unit: 'ms', measured: leader, reference: bare },
    );
  }
  return lines;
}

async function embeddedWrites(fixture: Fixture): Promise<Summary> {
  const daemon = await fixture.start(await fixture.copyOfPlatform());
  try {
    let made = await warmUp(fixture, daemon, 0);
    const connection = await HttpConnection.open(daemon.http);
    const times: number[] = [];
    for (let i = 0; i < WRITES; i++) {
      times.push(await create(connection, createRequest(fixture, daemon.token, made++)));
    }
    connection.close();
    return summarize(times);
  } finally {
    await daemon.stop();
  }
}

async function replicatedWrites(fixture: Fixture, members: 1 | 3): Promise<Samples> {
  return await withReplicas(fixture, members, async (set) => {
    const leader = await set.start(await fixture.copyOfPlatform());
    const follower = await set.start();
    let made = await warmUp(fixture, leader, 0);
    made = await warmUp(fixture, follower, made);
    const here = await HttpConnection.open(leader.http);
    const there = await HttpConnection.open(follower.http);
    const times = { leader: [] as number[], follower: [] as number[], put: [] as number[] };
    for (let i = 0; i < WRITES; i++) {
      const next = () => createRequest(fixture, leader.token, made++);
      times.leader.push(await create(here, next()));
      times.follower.push(await create(there, next()));
      times.put.push(await put(set.client, fixture.corpus.newSecret(made).body));
    }
    here.close();
    there.close();
    return {
      leader: summarize(times.leader),
      follower: summarize(times.follower),
      put: summarize(times.put),
    };
  });
}

/** Returns the number of the next object. */
async function warmUp(fixture: Fixture, daemon: DaemonProcess, from: number): Promise<number> {
  let made = from;
  await throughput({
    endpoint: daemon.http,
    connections: CLIENTS,
    status: 201,
    ms: WARM_UP_MS,
    next: () => createRequest(fixture, daemon.token, made++),
  });
  return made;
}

async function create(connection: HttpConnection, request: Buffer): Promise<number> {
  const { ms, result } = await timed(() => connection.send(request, true));
  assertStatus(result, 201);
  return ms;
}

async function put(etcd: Etcd, value: Buffer): Promise<number> {
  const operations = [{ put: '/bench/value', value }];
  const { ms } = await timed(() => etcd.txn({ compare: [], operations }));
  return ms;
}
