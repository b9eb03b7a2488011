/**
 * Replicas of one platform as real processes, on a real etcd. Every way between two of them leads
 * through a proxy of its own: replica to member of etcd, and replica to replica.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Daemon, EXAMPLE_PLATFORM, startDaemon } from './daemon.ts';
import { type EtcdCluster, fastPlace, freePorts, startEtcd } from './etcd.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

export interface ReplicaSetup {
  readonly replicas?: number;
  readonly members?: 1 | 3;
  /** undefined: nothing. */
  readonly seed?: string | undefined;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Bytes that etcd may have on the disk. */
  readonly quota?: number;
  /** What runs node, by replica. */
  readonly via?: (index: number) => readonly string[];
}

export interface Replica {
  readonly index: number;
  readonly name: string;
  readonly dataDir: string;
  /** The same over restarts. */
  readonly port: number;
  /** Where other replicas go: a proxy. */
  readonly peer: string;
  /** Its ways to the members of etcd, and the way of others to it. */
  readonly toEtcd: readonly TcpProxy[];
  readonly toPeer: TcpProxy;
  /** Of the last start; its helpers work while it runs. */
  readonly daemon: Daemon;
  readonly isRunning: boolean;
  /** What it said in all of its lives. */
  output(): string;
  /** Resolves when it serves. */
  start(): Promise<void>;
  /** SIGTERM unless told otherwise; resolves with the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  /** SIGSTOP and SIGCONT. */
  pause(): void;
  resume(): void;
  /** Moves its wall clock, now and after restarts. */
  setClock(offsetMs: number): void;
}

export interface ReplicaSet {
  readonly etcd: EtcdCluster;
  readonly replicas: readonly Replica[];
  /** Of the administrator; all replicas have the same. */
  readonly token: string;
  /** Who leads, as etcd says; undefined: nobody, or nobody can tell. */
  leader(): Promise<Replica | undefined>;
  /** Resolves when somebody leads. */
  elected(): Promise<Replica>;
  /** What all said: for the message of a test that fails. */
  output(): string;
  stop(): Promise<void>;
}

const CLOCK = pathToFileURL(join(import.meta.dirname, 'faults/clock.mjs')).href;
const PREFIX = '/gitplane/';
const TRIES = 3;

/** Resolves when all of them serve. */
export async function startReplicas(setup: ReplicaSetup = {}): Promise<ReplicaSet> {
  for (let tries = 1; ; tries++) {
    const set = await Replicas.prepare(setup);
    try {
      await Promise.all(set.replicas.map((replica) => replica.start()));
      return set;
    } catch (error) {
      await set.stop();
      // Somebody else may take a port before a replica has it.
      if (!/EADDRINUSE|in use/.test(String(error)) || tries === TRIES) throw error;
    }
  }
}

class Replicas implements ReplicaSet {
  readonly etcd: EtcdCluster;
  readonly replicas: readonly OneReplica[];
  readonly #folder: string;
  #token: string | undefined;

  private constructor(etcd: EtcdCluster, replicas: readonly OneReplica[], folder: string) {
    this.etcd = etcd;
    this.replicas = replicas;
    this.#folder = folder;
  }

  static async prepare(setup: ReplicaSetup): Promise<Replicas> {
    const folder = mkdtempSync(join(fastPlace(), 'gitplane-replicas-'));
    const stateKey = join(folder, 'state.key');
    writeFileSync(stateKey, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
    const { members = 3, quota } = setup;
    const etcd = await startEtcd({ members, ...(quota === undefined ? {} : { quota }) });
    const count = setup.replicas ?? 3;
    const ports = await freePorts(2 * count);
    const replicas = await Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const [port = 0, peerPort = 0] = ports.slice(2 * index);
        const toEtcd = await Promise.all(etcd.endpoints.map((to) => startTcpProxy(to)));
        const toPeer = await startTcpProxy(`127.0.0.1:${peerPort}`);
        return new OneReplica({ index, folder, stateKey, port, peerPort, toEtcd, toPeer, setup });
      }),
    );
    return new Replicas(etcd, replicas, folder);
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
    await this.etcd.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

interface OneSetup {
  readonly index: number;
  readonly folder: string;
  readonly stateKey: string;
  readonly port: number;
  readonly peerPort: number;
  readonly toEtcd: readonly TcpProxy[];
  readonly toPeer: TcpProxy;
  readonly setup: ReplicaSetup;
}

class OneReplica implements Replica {
  readonly index: number;
  readonly name: string;
  readonly dataDir: string;
  readonly port: number;
  readonly peer: string;
  readonly toEtcd: readonly TcpProxy[];
  readonly toPeer: TcpProxy;
  readonly #of: OneSetup;
  readonly #clock: string;
  #daemon: Daemon | undefined;
  #said = '';

  constructor(of: OneSetup) {
    this.#of = of;
    this.index = of.index;
    this.name = `r${of.index + 1}`;
    this.dataDir = join(of.folder, this.name);
    this.port = of.port;
    this.toEtcd = of.toEtcd;
    this.toPeer = of.toPeer;
    this.peer = of.toPeer.address;
    this.#clock = join(of.folder, `${this.name}.clock`);
    this.setClock(0);
  }

  get daemon(): Daemon {
    if (this.#daemon === undefined) throw new Error(`${this.name} was not started`);
    return this.#daemon;
  }

  get isRunning(): boolean {
    const child = this.#daemon?.process;
    return child !== undefined && child.exitCode === null && child.signalCode === null;
  }

  output(): string {
    return this.#said + (this.#daemon?.output() ?? '');
  }

  async start(): Promise<void> {
    const { setup, stateKey, peerPort } = this.#of;
    const said = this.output();
    const args = ['--listen', `127.0.0.1:${this.port}`];
    args.push('--state', `etcd://${this.toEtcd.map(({ address }) => address).join(',')}`);
    args.push('--etcd-prefix', PREFIX, '--state-key', stateKey);
    args.push('--listen-peer', `127.0.0.1:${peerPort}`, '--advertise-peer', this.peer);
    const daemon = await startDaemon({
      dataDir: this.dataDir,
      seed: 'seed' in setup ? setup.seed : EXAMPLE_PLATFORM,
      args: [...args, ...(setup.args ?? [])],
      env: { ...setup.env, GITPLANE_TEST_CLOCK: this.#clock },
      node: ['--import', CLOCK],
      via: setup.via?.(this.index) ?? [],
    });
    this.#said = said;
    this.#daemon = daemon;
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    const ended = this.daemon.stop(signal);
    // A process that is stopped takes no other signal.
    this.resume();
    return await ended;
  }

  pause(): void {
    this.#daemon?.process.kill('SIGSTOP');
  }

  resume(): void {
    this.#daemon?.process.kill('SIGCONT');
  }

  setClock(offsetMs: number): void {
    writeFileSync(this.#clock, String(offsetMs));
  }

  async end(): Promise<void> {
    if (this.isRunning) await this.daemon.stop('SIGKILL');
    await Promise.all([...this.toEtcd, this.toPeer].map((proxy) => proxy.close()));
  }
}
