/**
 * Replicas of one platform as real processes, on a real etcd. Every way between two of them can be
 * harmed: replica to member of etcd, and replica to replica.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type EtcdCluster, startEtcd } from './etcd.ts';
import { fastPlace, freePorts } from './machine.ts';
import { type Network, ProxyNetwork } from './network.ts';
import { OneReplica, PREFIX, type Replica, type ReplicaOptions } from './replica.ts';
import { mountDisk, type SmallDisk } from './small-disk.ts';

export interface ReplicaSetup extends ReplicaOptions {
  readonly replicas?: number;
  readonly members?: 1 | 3;
  /** Bytes that etcd may have on the disk. */
  readonly quota?: number;
  /** Time limit for all of them to serve. The error has their output. */
  readonly patienceMs?: number;
  /** Mebibytes of the disk of each replica and member, where they can be mounted. */
  readonly disks?: { readonly replica: number; readonly member: number };
  /** TCP proxies when absent. The set closes it. */
  readonly network?: Network;
}

export interface ReplicaSet {
  readonly etcd: EtcdCluster;
  readonly network: Network;
  /** Of members of etcd, in their order, where they have disks of their own. */
  readonly memberDisks: readonly SmallDisk[];
  readonly replicas: readonly Replica[];
  /** Of the administrator; all replicas have the same. */
  readonly token: string;
  /** Who leads, as etcd says; undefined: nobody, or nobody can tell. */
  leader(): Promise<Replica | undefined>;
  /** Resolves when a replica leads. */
  elected(): Promise<Replica>;
  /** What all said: for the message of a test that fails. */
  output(): string;
  stop(): Promise<void>;
}

const TRIES = 3;
/** Shorter than a hook: a start that hangs is named. */
const PATIENCE_MS = 200_000;

/** Resolves when all of them serve. */
export async function startReplicas(setup: ReplicaSetup = {}): Promise<ReplicaSet> {
  for (let tries = 1; ; tries++) {
    const set = await Replicas.prepare(setup);
    try {
      await inTime(set, setup.patienceMs);
      return set;
    } catch (error) {
      await set.stop();
      // Another process may take a port before a replica has it.
      if (!/EADDRINUSE|in use/.test(String(error)) || tries === TRIES) throw error;
    }
  }
}

async function inTime(set: Replicas, patienceMs = PATIENCE_MS): Promise<void> {
  const starts = set.replicas.map((replica) => replica.start());
  const started = Promise.all(starts).catch(async (cause: unknown) => {
    await Promise.race([Promise.allSettled(starts), sleep(5_000)]);
    throw new Error(`${String(cause)}\n${set.output()}`, { cause });
  });
  started.catch(() => undefined);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`Not all replicas serve after ${patienceMs} ms:\n${set.output()}`));
    }, patienceMs);
  });
  await Promise.race([started, late]).finally(() => clearTimeout(timer));
}

class Replicas implements ReplicaSet {
  readonly etcd: EtcdCluster;
  readonly network: Network;
  readonly memberDisks: readonly SmallDisk[];
  readonly replicas: readonly OneReplica[];
  readonly #folder: string;
  #token: string | undefined;

  private constructor(of: {
    etcd: EtcdCluster;
    network: Network;
    memberDisks: readonly SmallDisk[];
    replicas: readonly OneReplica[];
    folder: string;
  }) {
    this.etcd = of.etcd;
    this.network = of.network;
    this.memberDisks = of.memberDisks;
    this.replicas = of.replicas;
    this.#folder = of.folder;
  }

  static async prepare(setup: ReplicaSetup): Promise<Replicas> {
    const network = setup.network ?? new ProxyNetwork(undefined);
    const folder = mkdtempSync(join(fastPlace(), `gitplane-replicas-${process.pid}-`));
    const stateKey = join(folder, 'state.key');
    writeFileSync(stateKey, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
    const { members = 3, quota, disks } = setup;
    const etcdFolder = join(folder, 'etcd');
    const names = Array.from({ length: members }, (_, index) => `m${index + 1}`);
    const memberDisks =
      disks === undefined
        ? []
        : names.map((name) => mountDisk(join(etcdFolder, name), disks.member));
    const etcd = await startEtcd({
      members,
      folder: etcdFolder,
      places: names.map((name) => network.place(name)),
      ...(quota === undefined ? {} : { quota }),
    });
    const count = setup.replicas ?? 3;
    const ports = await freePorts(2 * count);
    const places = Array.from({ length: count }, (_, index) => network.place(`r${index + 1}`));
    const replicas = await Promise.all(
      places.map(async (place, index) => {
        const [port = 0, peerPort = 0] = ports.slice(2 * index);
        const toEtcd = await Promise.all(
          etcd.members.map((to) => network.way([place], to.place, portOf(to.endpoint))),
        );
        const toPeer = await network.way(places, place, peerPort);
        return new OneReplica({
          ...{ index, folder, stateKey, place, port, peerPort, toEtcd, toPeer, setup },
        });
      }),
    );
    return new Replicas({ etcd, network, memberDisks, replicas, folder });
  }

  get token(): string {
    const [first] = this.replicas;
    if (first === undefined) throw new Error('There is no replica');
    this.#token ??= first.daemon.token;
    return this.#token;
  }

  async leader(): Promise<Replica | undefined> {
    const args = ['get', `${PREFIX}leader`, '--print-value-only', '--consistency=s'];
    const { code, stdout } = await this.etcd.ctl(args);
    if (code !== 0 || stdout.trim() === '') return undefined;
    const { peer } = JSON.parse(stdout) as { peer: string };
    return this.replicas.find((replica) => peer.endsWith(replica.peer));
  }

  async elected(): Promise<Replica> {
    const giveUp = performance.now() + 60_000;
    for (;;) {
      const leader = await this.leader();
      if (leader?.isRunning) return leader;
      if (performance.now() > giveUp) throw new Error(`Nobody leads:\n${this.output()}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  output(): string {
    const said = this.replicas.map((one) => `== ${one.name}\n${one.output()}`);
    return [...said, ...this.etcd.members.map((one) => `== ${one.name}\n${one.output()}`)].join(
      '\n',
    );
  }

  async stop(): Promise<void> {
    await Promise.all(this.replicas.map((replica) => replica.end()));
    for (const disk of this.memberDisks) disk.unmount();
    await this.etcd.stop();
    await this.network.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function portOf(address: string): number {
  return Number(address.slice(address.lastIndexOf(':') + 1));
}
