/** One replica of a platform: a process over several lives, with a clock, a disk and ways of its own. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Daemon, EXAMPLE_PLATFORM, startDaemon } from './daemon.ts';
import type { Place, Way } from './network.ts';
import { mountDisk, type SmallDisk } from './small-disk.ts';

export interface Replica {
  readonly index: number;
  readonly name: string;
  readonly dataDir: string;
  readonly place: Place;
  /** The same over restarts. */
  readonly port: number;
  /** Where other replicas go. */
  readonly peer: string;
  /** Its ways to the members of etcd, and the way of others to it. */
  readonly toEtcd: readonly Way[];
  readonly toPeer: Way;
  /** Its own, where there is one. */
  readonly disk: SmallDisk | undefined;
  /** Of the last start; its helpers work while it runs. */
  readonly daemon: Daemon;
  readonly isRunning: boolean;
  /** What it said in all of its lives. */
  output(): string;
  /** Resolves when it serves. */
  start(): Promise<void>;
  /** SIGTERM unless told otherwise; resolves with the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  /** Kills it, also while it starts. Resolves when it is gone. */
  abort(): Promise<void>;
  /** SIGSTOP and SIGCONT. */
  pause(): void;
  resume(): void;
  /** Moves its wall clock, now and after restarts. */
  setClock(offsetMs: number): void;
}

const CLOCK = pathToFileURL(join(import.meta.dirname, 'faults/clock.mjs')).href;
/** What is kept in etcd is below. */
export const PREFIX = '/gitplane/';

/** What is asked of every replica of a set. */
export interface ReplicaOptions {
  /** undefined: nothing. */
  readonly seed?: string | undefined;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Mebibytes of the disk of each, where they can be mounted. */
  readonly disks?: { readonly replica: number };
}

export interface OneSetup {
  readonly index: number;
  readonly folder: string;
  readonly stateKey: string;
  readonly place: Place;
  readonly port: number;
  readonly peerPort: number;
  readonly toEtcd: readonly Way[];
  readonly toPeer: Way;
  readonly setup: ReplicaOptions;
}

export class OneReplica implements Replica {
  readonly index: number;
  readonly name: string;
  readonly dataDir: string;
  readonly place: Place;
  readonly port: number;
  readonly peer: string;
  readonly toEtcd: readonly Way[];
  readonly toPeer: Way;
  readonly disk: SmallDisk | undefined;
  readonly #of: OneSetup;
  readonly #clock: string;
  #daemon: Daemon | undefined;
  #starting: { readonly child: ChildProcess; readonly output: () => string } | undefined;
  #said = '';

  constructor(of: OneSetup) {
    this.#of = of;
    this.index = of.index;
    this.name = `r${of.index + 1}`;
    const { disks } = of.setup;
    const root = join(of.folder, this.name);
    this.disk = disks === undefined ? undefined : mountDisk(root, disks.replica);
    // Below where it is mounted: a data directory can be removed as a whole.
    this.dataDir = this.disk === undefined ? root : join(root, 'data');
    this.place = of.place;
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
    return this.#said + (this.#starting?.output() ?? '');
  }

  async start(): Promise<void> {
    const { setup, stateKey, peerPort, place } = this.#of;
    this.#said = this.output();
    this.#starting = undefined;
    const args = ['--listen', `${place.host}:${this.port}`];
    args.push('--state', `etcd://${this.toEtcd.map(({ address }) => address).join(',')}`);
    args.push('--etcd-prefix', PREFIX, '--state-key', stateKey);
    args.push('--listen-peer', `${place.host}:${peerPort}`, '--advertise-peer', this.peer);
    const daemon = await startDaemon({
      dataDir: this.dataDir,
      seed: 'seed' in setup ? setup.seed : EXAMPLE_PLATFORM,
      args: [...args, ...(setup.args ?? [])],
      env: { ...setup.env, GITPLANE_TEST_CLOCK: this.#clock },
      node: ['--import', CLOCK],
      via: place.via,
      onSpawn: (child, output) => {
        this.#starting = { child, output };
      },
    });
    this.#daemon = daemon;
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    const ended = this.daemon.stop(signal);
    // A process that is stopped takes no other signal.
    this.resume();
    return await ended;
  }

  async abort(): Promise<void> {
    const child = this.#starting?.child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
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
    // It may have been on the way only.
    this.#starting?.child.kill('SIGKILL');
    await Promise.all([...this.toEtcd, this.toPeer].map((way) => way.close()));
    this.disk?.unmount();
  }
}
