/**
 * A real etcd of one or three members on the loopback interface: each member a process that can be
 * killed, stopped, continued and started again on what it had. Data is in memory (/dev/shm) where
 * there is such a place, so that tests do not wait for a disk.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { get as getPlain } from 'node:http';
import { get as getSecure } from 'node:https';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RunResult, run } from './daemon.ts';
import { type EtcdTls, makeEtcdTls } from './etcd-tls.ts';
import type { Place } from './network.ts';

/** Why it cannot run here; undefined: it can. Belongs into the title of what is skipped then. */
export const ETCD_MISSING = missing();

function missing(): string | undefined {
  for (const [program, argument, remedy] of [
    ['etcd', '--version', 'install etcd-server'],
    ['etcdctl', 'version', 'install etcd-client'],
  ] as const) {
    try {
      execFileSync(program, [argument], { stdio: 'ignore', env: environment() });
    } catch {
      return `${program} is missing: ${remedy}`;
    }
  }
  return undefined;
}

export interface EtcdSetup {
  /** One unless told otherwise. */
  readonly members?: 1 | 3;
  /** `server`: clients check the servers. `mutual`: servers ask for a certificate of clients too. */
  readonly tls?: 'server' | 'mutual';
  /** Passwords by user; turns authentication on. There must be a `root`; all have the role root. */
  readonly users?: Readonly<Record<string, string>>;
  /** Bytes that the store may have on the disk. */
  readonly quota?: number;
  /** Members do not wait for their disks: for tests that pull no plug. */
  readonly noFsync?: boolean;
  /** Where the data is, a folder per member below it; a fresh one when absent. */
  readonly folder?: string;
  /** More arguments of every member. */
  readonly args?: readonly string[];
  /** Where the members live; on the loopback interface when absent. */
  readonly places?: readonly Place[];
}

export interface EtcdMember {
  readonly name: string;
  readonly place: Place;
  /** `HOST:PORT` of the client port. */
  readonly endpoint: string;
  readonly peerPort: number;
  readonly dataDir: string;
  readonly pid: number | undefined;
  readonly isRunning: boolean;
  /** What it said so far. */
  output(): string;
  /** Ends it, with SIGKILL unless told otherwise; resolves when it has ended. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** SIGSTOP */
  pause(): void;
  /** SIGCONT */
  resume(): void;
  /** On the data that it had; resolves when it is healthy, or at once without `wait`. */
  start(options?: { wait?: boolean }): Promise<void>;
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
      // Somebody else may take a port before etcd has it.
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
    return run('etcdctl', [...words, ...args], { env: environment(), input: options.input });
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
      const { code, stderr } = await run('etcdctl', args, { env: environment() });
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

interface MemberSetup {
  readonly name: string;
  readonly place: Place;
  readonly clientPort: number;
  readonly peerPort: number;
  readonly dataDir: string;
  readonly tls: EtcdTls | undefined;
  readonly setup: EtcdSetup;
  readonly initial: string;
}

class Member implements EtcdMember {
  readonly name: string;
  readonly place: Place;
  readonly endpoint: string;
  readonly peerPort: number;
  readonly dataDir: string;
  readonly #of: MemberSetup;
  #process: ChildProcess | undefined;
  #output = '';
  #lives = 0;

  constructor(of: MemberSetup) {
    this.#of = of;
    this.name = of.name;
    this.place = of.place;
    this.endpoint = `${of.place.host}:${of.clientPort}`;
    this.peerPort = of.peerPort;
    this.dataDir = of.dataDir;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  get isRunning(): boolean {
    const child = this.#process;
    return child !== undefined && child.exitCode === null && child.signalCode === null;
  }

  output(): string {
    return this.#output;
  }

  async start(options: { wait?: boolean } = {}): Promise<void> {
    if (this.isRunning) throw new Error(`${this.name} runs already`);
    const [program = '', ...words] = [...this.place.via, 'etcd', ...this.#args()];
    const child = spawn(program, words, {
      env: environment(),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#process = child;
    child.on('error', (error) => {
      this.#output += error.message;
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        this.#output += chunk;
      });
    }
    if (options.wait ?? true) await this.healthy();
  }

  kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#process;
    if (child === undefined || !this.isRunning) return Promise.resolve();
    return new Promise((resolve) => {
      child.on('close', () => resolve());
      child.kill(signal);
      // A process that is stopped takes no other signal.
      if (signal !== 'SIGKILL') child.kill('SIGCONT');
    });
  }

  pause(): void {
    this.#process?.kill('SIGSTOP');
  }

  resume(): void {
    this.#process?.kill('SIGCONT');
  }

  /** Rejects with what it said when it has ended. */
  async healthy(): Promise<void> {
    while (this.isRunning) {
      if (await this.#isHealthy()) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error(`${this.name} of etcd has ended:\n${this.#output}`);
  }

  async #isHealthy(): Promise<boolean> {
    const { tls } = this.#of;
    return await new Promise((resolve) => {
      const url = `${this.#scheme}://${this.endpoint}/health`;
      const sent = tls === undefined ? getPlain(url) : getSecure(url, tls.asClient);
      sent.setTimeout(5000, () => sent.destroy());
      sent.on('error', () => resolve(false));
      sent.on('response', (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      });
    });
  }

  get #scheme(): string {
    return this.#of.tls === undefined ? 'http' : 'https';
  }

  /** What `etcdctl snapshot restore` has to know, for the next cluster at these addresses. */
  restored(): string[] {
    this.#lives += 1;
    return [...this.#identity(), '--initial-advertise-peer-urls', this.#peer];
  }

  get #peer(): string {
    return `http://${this.place.host}:${this.peerPort}`;
  }

  #identity(): string[] {
    const { name, dataDir, initial } = this.#of;
    const token = `${initial}-${this.#lives}`;
    const cluster = ['--initial-cluster', initial, '--initial-cluster-token', token];
    return ['--name', name, '--data-dir', dataDir, ...cluster];
  }

  #args(): string[] {
    const { tls, setup } = this.#of;
    const peer = this.#peer;
    const client = `${this.#scheme}://${this.endpoint}`;
    const args = [...this.#identity(), '--logger=zap', '--log-outputs=stderr', '--log-level=warn'];
    args.push('--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer);
    args.push('--listen-client-urls', client, '--advertise-client-urls', client);
    if (tls !== undefined) args.push('--cert-file', tls.serverCert, '--key-file', tls.serverKey);
    if (setup.tls === 'mutual') args.push('--client-cert-auth', '--trusted-ca-file', tls?.ca ?? '');
    if (setup.quota !== undefined) args.push(`--quota-backend-bytes=${setup.quota}`);
    if (setup.noFsync === true) args.push('--unsafe-no-fsync');
    if (setup.users !== undefined) args.push('--bcrypt-cost=4');
    return [...args, ...(setup.args ?? [])];
  }
}

/** Without what the machine's own etcd and proxies want. */
function environment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^ETCD|_proxy$/i.test(name));
  return { ...Object.fromEntries(kept), ETCDCTL_API: '3', ETCD_UNSUPPORTED_ARCH: process.arch };
}

/** A folder in memory, or the one for temporary files. */
export function fastPlace(): string {
  try {
    accessSync('/dev/shm', constants.W_OK);
    return '/dev/shm';
  } catch {
    return tmpdir();
  }
}

/** Different ones, that nobody had a moment ago. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      return server;
    }),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
