/** One member of a cluster of etcd: a process that can be killed, stopped, continued and started again. */
import { type ChildProcess, spawn } from 'node:child_process';
import { get as getPlain } from 'node:http';
import { get as getSecure } from 'node:https';
import type { EtcdTls } from './etcd-tls.ts';
import type { Place } from './network.ts';

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

/** What is asked of every member of a cluster. */
export interface MemberOptions {
  /** `server`: clients check the servers. `mutual`: servers ask for a certificate of clients too. */
  readonly tls?: 'server' | 'mutual';
  /** Passwords by user; turns authentication on. There must be a `root`; all have the role root. */
  readonly users?: Readonly<Record<string, string>>;
  /** Bytes that the store may have on the disk. */
  readonly quota?: number;
  /** Members do not wait for their disks: for tests that pull no plug. */
  readonly noFsync?: boolean;
  /** More arguments of every member. */
  readonly args?: readonly string[];
}

export interface MemberSetup {
  readonly name: string;
  readonly place: Place;
  readonly clientPort: number;
  readonly peerPort: number;
  readonly dataDir: string;
  readonly tls: EtcdTls | undefined;
  readonly setup: MemberOptions;
  readonly initial: string;
}

export class Member implements EtcdMember {
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
      env: etcdEnvironment(),
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
    // As later versions do unless told otherwise: a member that comes back does not end the term of
    // the leader of etcd.
    args.push('--pre-vote');
    if (setup.noFsync === true) args.push('--unsafe-no-fsync');
    if (setup.users !== undefined) args.push('--bcrypt-cost=4');
    return [...args, ...(setup.args ?? [])];
  }
}

/** Without what the machine's own etcd and proxies want. */
export function etcdEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^ETCD|_proxy$/i.test(name));
  return { ...Object.fromEntries(kept), ETCDCTL_API: '3', ETCD_UNSUPPORTED_ARCH: process.arch };
}
