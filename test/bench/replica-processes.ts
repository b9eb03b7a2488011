/** Replicas of one platform as processes of their own, on an etcd that is theirs. */
import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Etcd } from '../../src/etcd/etcd.ts';
import { openEtcd } from '../../src/etcd/open-etcd.ts';
import { type DaemonProcess, freePort } from './daemon-process.ts';
import { type EtcdProcesses, etcdMissing, startEtcd } from './etcd-process.ts';
import type { Fixture } from './fixture.ts';
import { HttpConnection, requestBytes } from './http-connection.ts';
import { assertStatus } from './load.ts';
import { type Measure, needing } from './needing.ts';

const LEADER_KEY = '/gitplane/leader';
const LEADER_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 20;

export interface ReplicaProcess extends DaemonProcess {
  /** Where others reach it: `127.0.0.1:PORT`. */
  readonly peer: string;
  readonly dataDir: string;
}

export class ReplicaProcesses {
  readonly etcd: EtcdProcesses;
  /** A client of it. */
  readonly client: Etcd;
  readonly #fixture: Fixture;
  readonly #stateKey: string;
  readonly #running = new Set<ReplicaProcess>();

  private constructor(
    fixture: Fixture,
    of: { etcd: EtcdProcesses; client: Etcd; stateKey: string },
  ) {
    this.#fixture = fixture;
    this.etcd = of.etcd;
    this.client = of.client;
    this.#stateKey = of.stateKey;
  }

  /** An etcd that is empty, and no replica yet. */
  static async prepare(fixture: Fixture, members: 1 | 3): Promise<ReplicaProcesses> {
    const etcd = await startEtcd(fixture.workspace, members);
    const client = await openEtcd({ endpoints: etcd.endpoints });
    const stateKey = fixture.workspace.path('state.key');
    await writeFile(stateKey, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
    return new ReplicaProcesses(fixture, { etcd, client, stateKey });
  }

  /** Those that were started and not killed, in order. */
  get running(): readonly ReplicaProcess[] {
    return [...this.#running];
  }

  /** Resolves when it serves. Without `dataDir` on an empty one. */
  async start(dataDir = this.#fixture.workspace.path('replica')): Promise<ReplicaProcess> {
    await mkdir(dataDir, { mode: 0o700, recursive: true });
    const peer = `127.0.0.1:${await freePort()}`;
    const state = `etcd://${this.etcd.endpoints.join(',')}`;
    const args = ['--state', state, '--state-key', this.#stateKey, '--listen-peer', peer];
    const replica = { ...(await this.#fixture.start(dataDir, args)), peer, dataDir };
    this.#running.add(replica);
    await untilReady(replica);
    return replica;
  }

  /** The one that leads and runs, when there is one. */
  async leader(): Promise<ReplicaProcess> {
    const end = performance.now() + LEADER_WITHIN_MS;
    while (performance.now() < end) {
      const { kvs } = await this.client.range({ key: LEADER_KEY });
      const peer = kvs[0] === undefined ? '' : JSON.parse(kvs[0].value.toString('utf8')).peer;
      const leader = this.running.find((one) => one.peer === peer);
      if (leader !== undefined) return leader;
      await sleep(LOOK_EVERY_MS);
    }
    throw new Error(`No replica leads after ${LEADER_WITHIN_MS} ms`);
  }

  async kill(replica: ReplicaProcess): Promise<void> {
    this.#running.delete(replica);
    await replica.kill();
  }

  /** As for an upgrade; resolves with the exit code when it has ended. */
  async stop(replica: ReplicaProcess): Promise<number | null> {
    this.#running.delete(replica);
    return await replica.stop();
  }

  /** Everything; nobody needs the data any more. */
  async end(): Promise<void> {
    await Promise.all(this.running.map((one) => this.kill(one)));
    await this.client.close();
    this.etcd.kill();
  }
}

async function untilReady({ http }: ReplicaProcess): Promise<void> {
  const end = performance.now() + LEADER_WITHIN_MS;
  for (;;) {
    const connection = await HttpConnection.open(http);
    const reply = await connection.send(requestBytes({ method: 'GET', path: '/readyz' }), true);
    connection.close();
    if (reply.status === 200) return;
    if (performance.now() > end) assertStatus(reply, 200);
    await sleep(LOOK_EVERY_MS);
  }
}

/** A row that needs etcd. */
export function onEtcd(row: string, measure: Measure): [string, Measure] {
  return needing(etcdMissing, row, measure);
}

/** An etcd and replicas for as long as `work` takes. */
export async function withReplicas<T>(
  fixture: Fixture,
  members: 1 | 3,
  work: (set: ReplicaProcesses) => Promise<T>,
): Promise<T> {
  const set = await ReplicaProcesses.prepare(fixture, members);
  try {
    return await work(set);
  } finally {
    await set.end();
  }
}
