/**
 * A real etcd of one or three members on the loopback interface: each member a process that can be
 * killed, stopped, continued and started again on what it had. Data is in memory (/dev/shm) where
 * there is such a place, so that tests do not wait for a disk.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type RunResult, run } from './daemon.ts';
import { type EtcdMember, etcdEnvironment, Member, type MemberOptions } from './etcd-member.ts';
import { type EtcdTls, makeEtcdTls } from './etcd-tls.ts';
import { fastPlace, freePorts } from './machine.ts';
import type { Place } from './network.ts';

/** Why it cannot run here; undefined: it can. Belongs into the title of what is skipped then. */
export const ETCD_MISSING = missing();

function missing(): string | undefined {
  for (const [program, argument, remedy] of [
    ['etcd', '--version', 'install etcd-server'],
    ['etcdctl', 'version', 'install etcd-client'],
  ] as const) {
    try {
      execFileSync(program, [argument], { stdio: 'ignore', env: etcdEnvironment() });
    } catch {
      return `${program} is missing: ${remedy}`;
    }
  }
  return undefined;
}

export interface EtcdSetup extends MemberOptions {
  /** One unless told otherwise. */
  readonly members?: 1 | 3;
  /** Where the data is, a folder per member below it; a fresh one when absent. */
  readonly folder?: string;
  /** Where the members live; on the loopback interface when absent. */
  readonly places?: readonly Place[];
}

export interface EtcdCluster {
  readonly members: readonly EtcdMember[];
  /** Client ports, `HOST:PORT` each. */
  readonly endpoints: readonly string[];
  /** As `--state` wants it. */
  readonly state: string;
  /** Files, when TLS was asked for. */
  readonly tls: EtcdTls | undefined;
  /** etcdctl (API 3), as root when there are users. `member`: only that one is asked. */
  ctl(args: readonly string[], options?: { member?: number; input?: string }): Promise<RunResult>;
  /** Forgets everything before the newest revision, which it returns. */
  compact(): Promise<bigint>;
  /** Every member, one after the other. */
  defragment(): Promise<void>;
  /** Everything that is in it, as a file. */
  save(file: string): Promise<void>;
  /** Loses all members and their data, and makes a new cluster of that file in their place. */
  restore(file: string): Promise<void>;
  /** Resolves when every running member says that it is healthy. */
  healthy(): Promise<void>;
  /** Ends all members and removes the data. */
  stop(): Promise<void>;
}

const TRIES = 5;
const LOOPBACK: Place = { name: 'loopback', host: '127.0.0.1', via: [] };

/** Resolves when all members are healthy. */
export async function startEtcd(setup: EtcdSetup = {}): Promise<EtcdCluster> {
  if (ETCD_MISSING !== undefined) throw new Error(ETCD_MISSING);
  for (let tries = 1; ; tries++) {
    const cluster = await Cluster.prepare(setup);
    try {
      await cluster.begin();
      return cluster;
    } catch (error) {
      const said = cluster.members.map((member) => member.output()).join('\n');
      await cluster.stop();
      // Another process may take a port before etcd has it.
      if (!said.includes('address already in use') || tries === TRIES) throw error;
    }
  }
}

class Cluster implements EtcdCluster {
  readonly members: readonly Member[];
  readonly tls: EtcdTls | undefined;
  readonly #setup: EtcdSetup;
  readonly #folder: string;
  #hasUsers = false;

  private constructor(
    setup: EtcdSetup,
    of: { folder: string; tls: EtcdTls | undefined; members: readonly Member[] },
  ) {
    this.#setup = setup;
    this.#folder = of.folder;
    this.tls = of.tls;
    this.members = of.members;
  }

  static async prepare(setup: EtcdSetup): Promise<Cluster> {
    const folder = setup.folder ?? mkdtempSync(join(fastPlace(), 'gitplane-etcd-'));
    const tls = setup.tls === undefined ? undefined : await makeEtcdTls(join(folder, 'tls'));
    const count = setup.members ?? 1;
    const ports = await freePorts(2 * count);
    const all = Array.from({ length: count }, (_, index) => ({
      name: `m${index + 1}`,
      place: setup.places?.[index] ?? LOOPBACK,
      clientPort: ports[2 * index] ?? 0,
      peerPort: ports[2 * index + 1] ?? 0,
    }));
    const initial = all
      .map(({ name, place, peerPort }) => `${name}=http://${place.host}:${peerPort}`)
      .join(',');
    const members = all.map(
      (one) => new Member({ ...one, dataDir: join(folder, one.name, 'data'), tls, setup, initial }),
    );
    return new Cluster(setup, { folder, tls, members });
  }

  get endpoints(): readonly string[] {
    return this.members.map(({ endpoint }) => endpoint);
  }

  get state(): string {
    return `etcd://${this.endpoints.join(',')}`;
  }

  async begin(): Promise<void> {
    await Promise.all(this.members.map((member) => member.start()));
    const { users } = this.#setup;
    if (users === undefined) return;
    for (const [name, password] of Object.entries(users)) {
      await this.#must(['user', 'add', `${name}:${password}`]);
      await this.#must(['user', 'grant-role', name, 'root']);
    }
    await this.#must(['auth', 'enable']);
    this.#hasUsers = true;
  }

  ctl(
    args: readonly string[],
    options: { member?: number; input?: string } = {},
  ): Promise<RunResult> {
    const { member } = options;
    const endpoints = member === undefined ? this.endpoints : [this.members[member]?.endpoint];
    const words = [`--endpoints=${endpoints.join(',')}`];
    if (this.tls !== undefined) {
      words.push(`--cacert=${this.tls.ca}`, `--cert=${this.tls.cert}`, `--key=${this.tls.key}`);
    }
    if (this.#hasUsers) words.push('--user', `root:${this.#setup.users?.['root']}`);
    return run('etcdctl', [...words, ...args], { env: etcdEnvironment(), input: options.input });
  }

  async compact(): Promise<bigint> {
    const status = JSON.parse(await this.#must(['get', 'any', '--write-out=json']));
    const revision = BigInt(status.header.revision);
    const { code, stderr } = await this.ctl(['compact', '--physical', String(revision)]);
    // Nothing was written since the last time.
    if (code !== 0 && !stderr.includes('has been compacted')) throw new Error(stderr);
    return revision;
  }

  async defragment(): Promise<void> {
    for (const [index, member] of this.members.entries()) {
      if (member.isRunning) await this.#must(['defrag', '--command-timeout=60s'], index);
    }
  }

  async save(file: string): Promise<void> {
    // Of one member: no other can tell what it has.
    await this.#must(['snapshot', 'save', file], 0);
  }

  async restore(file: string): Promise<void> {
    await Promise.all(this.members.map((member) => member.kill()));
    for (const member of this.members) {
      rmSync(member.dataDir, { recursive: true, force: true });
      const args = ['snapshot', 'restore', file, ...member.restored()];
      const { code, stderr } = await run('etcdctl', args, { env: etcdEnvironment() });
      if (code !== 0) throw new Error(`etcdctl ${args.join(' ')} failed: ${stderr}`);
    }
    await Promise.all(this.members.map((member) => member.start()));
  }

  async healthy(): Promise<void> {
    await Promise.all(this.members.map((member) => member.healthy()));
  }

  async stop(): Promise<void> {
    await Promise.all(this.members.map((member) => member.kill()));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #must(args: readonly string[], member?: number): Promise<string> {
    const { code, stdout, stderr } = await this.ctl(args, member === undefined ? {} : { member });
    if (code !== 0) throw new Error(`etcdctl ${args.join(' ')} failed: ${stderr}`);
    return stdout;
  }
}
