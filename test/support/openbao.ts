/**
 * A real OpenBao on the loopback interface: a process that can be killed, started again, sealed and restored
 * from a snapshot. `scripts/openbao.sh` installs the newest of the releases below.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fastPlace, freePorts } from './machine.ts';
import { findProgram } from './programs.ts';

/** Releases that the tests know, with the program of each where it is installed. */
export const OPENBAO_RELEASES = [
  { release: '2.6', program: findProgram('bao') },
  // Standbys of 2.4 forward reads. Installed by hand as ~/.cache/gitplane/bin/bao-2.4.
  { release: '2.4', program: findProgram('bao-2.4') },
] as const;

/** Reason why the newest release cannot run here; undefined: it can. */
export const OPENBAO_MISSING = OPENBAO_RELEASES[0].program
  ? undefined
  : 'OpenBao is missing: bash scripts/openbao.sh';

/** Standard error has a line for each release that is not here. */
export function warnOfMissingReleases(): void {
  for (const { release, program } of OPENBAO_RELEASES) {
    if (program === undefined) {
      process.stderr.write(`SKIPPED: OpenBao ${release} is not installed; its tests do not run\n`);
    }
  }
}

export interface BaoAnswer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests reach into answers of every shape
  readonly body: any;
}

export interface OpenBaoSetup {
  /** The newest release when absent. */
  readonly program?: string | undefined;
  /** `inmem` loses everything when the process ends. */
  readonly storage?: 'inmem' | 'raft';
}

const START_MS = 30_000;
const REQUEST_MS = 20_000;

export class OpenBao {
  readonly address: string;
  rootToken = '';
  readonly #program: string;
  readonly #folder: string;
  #unsealKey = '';
  #process: ChildProcess | undefined;
  #output = '';

  private constructor(of: { program: string; folder: string; port: number }) {
    this.#program = of.program;
    this.#folder = of.folder;
    this.address = `http://127.0.0.1:${of.port}`;
  }

  /** Resolves with a server that is initialised and unsealed, with a KV v2 engine at `secret/`. */
  static async start(setup: OpenBaoSetup = {}): Promise<OpenBao> {
    const { program = OPENBAO_RELEASES[0].program, storage = 'inmem' } = setup;
    if (program === undefined) throw new Error(OPENBAO_MISSING);
    const folder = mkdtempSync(join(fastPlace(), 'gitplane-openbao-'));
    const [port = 0, clusterPort = 0] = await freePorts(2);
    const bao = new OpenBao({ program, folder, port });
    mkdirSync(join(folder, 'data'));
    writeFileSync(
      join(folder, 'server.hcl'),
      configuration({ folder, storage, port, clusterPort }),
    );
    try {
      await bao.#launch();
      const { body } = await bao.must('POST', 'sys/init', {
        secret_shares: 1,
        secret_threshold: 1,
      });
      bao.rootToken = body.root_token;
      bao.#unsealKey = body.keys[0];
      await bao.unseal();
      await bao.must('POST', 'sys/mounts/secret', { type: 'kv', options: { version: '2' } });
      await bao.#until(() => bao.call('GET', 'secret/config'), 200);
    } catch (error) {
      const said = bao.#output;
      await bao.stop();
      throw new Error(`OpenBao does not start:\n${said}`, { cause: error });
    }
    return bao;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  async call(
    method: string,
    path: string,
    body?: object | Uint8Array,
    token = this.rootToken,
  ): Promise<BaoAnswer> {
    const payload = body instanceof Uint8Array ? body : body && JSON.stringify(body);
    const answer = await fetch(`${this.address}/v1/${path}`, {
      method,
      headers: token === '' ? {} : { 'x-vault-token': token },
      ...(payload !== undefined && { body: payload }),
      signal: AbortSignal.timeout(REQUEST_MS),
    });
    const text = await answer.text();
    const isJson = answer.headers.get('content-type')?.includes('json') === true;
    return {
      status: answer.status,
      headers: answer.headers,
      body: isJson && text !== '' ? JSON.parse(text) : text,
    };
  }

  /** As `call`; rejects when the answer is not a success. */
  async must(method: string, path: string, body?: object | Uint8Array): Promise<BaoAnswer> {
    const answer = await this.call(method, path, body);
    if (answer.status < 300) return answer;
    throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  }

  /** Writes a version of `secret/<path>` without check-and-set, and returns its number. */
  async put(path: string, data: Readonly<Record<string, string>>): Promise<number> {
    return (await this.must('POST', `secret/data/${path}`, { data })).body.data.version;
  }

  /** Values of the newest version of `secret/<path>`; undefined: none is live. */
  async live(path: string): Promise<Record<string, string> | undefined> {
    const { status, body } = await this.call('GET', `secret/data/${path}`);
    return status === 200 ? body.data.data : undefined;
  }

  /** Limits requests per second of each client; the quota of before is replaced. */
  async limit(rate: number, interval = '1s'): Promise<void> {
    await this.must('POST', 'sys/quotas/rate-limit/test', { rate, interval });
  }

  async token(body: object): Promise<string> {
    return (await this.must('POST', 'auth/token/create', body)).body.auth.client_token;
  }

  async seal(): Promise<void> {
    await this.must('PUT', 'sys/seal');
  }

  /** Resolves when the server is active. */
  async unseal(): Promise<void> {
    await this.must('PUT', 'sys/unseal', { key: this.#unsealKey });
    await this.#until(() => this.call('GET', 'sys/health'), 200);
  }

  /** Snapshot of a server with the storage `raft`. */
  async snapshot(): Promise<Uint8Array> {
    const answer = await fetch(`${this.address}/v1/sys/storage/raft/snapshot`, {
      headers: { 'x-vault-token': this.rootToken },
      signal: AbortSignal.timeout(REQUEST_MS),
    });
    if (answer.status !== 200) throw new Error(`No snapshot: ${answer.status}`);
    return new Uint8Array(await answer.arrayBuffer());
  }

  async restore(snapshot: Uint8Array): Promise<void> {
    await this.must('POST', 'sys/storage/raft/snapshot-force', snapshot);
    await this.#until(() => this.call('GET', 'sys/health'), 200);
  }

  /** Ends the process with SIGKILL; what `raft` had on the disk stays. */
  kill(): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) {
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      child.on('close', () => resolve());
      child.kill('SIGKILL');
    });
  }

  /** Starts the process again on its data, and unseals it. */
  async startAgain(): Promise<void> {
    await this.#launch();
    await this.unseal();
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #launch(): Promise<void> {
    const child = spawn(this.#program, ['server', `-config=${join(this.#folder, 'server.hcl')}`], {
      env: { PATH: process.env['PATH'], HOME: this.#folder, GOMEMLIMIT: '512MiB' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#process = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        this.#output = (this.#output + chunk).slice(-65_536);
      });
    }
    // Any answer, also of a server that is sealed.
    await this.#until(() => this.call('GET', 'sys/seal-status'), 200);
  }

  async #until(ask: () => Promise<BaoAnswer>, status: number): Promise<void> {
    const end = Date.now() + START_MS;
    for (;;) {
      const answer = await ask().catch(() => undefined);
      if (answer?.status === status) return;
      const { exitCode } = this.#process ?? {};
      if (Date.now() > end || (exitCode !== null && exitCode !== undefined)) {
        throw new Error(`The server answers ${answer?.status ?? 'nothing'}, not ${status}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

function configuration(of: {
  readonly folder: string;
  readonly storage: 'inmem' | 'raft';
  readonly port: number;
  readonly clusterPort: number;
}): string {
  const { folder, storage, port, clusterPort } = of;
  const raft = `path = "${folder}/data"\n  node_id = "one"\n  performance_multiplier = 1`;
  return `
storage "${storage}" {
  ${storage === 'raft' ? raft : ''}
}
listener "tcp" {
  address = "127.0.0.1:${port}"
  cluster_address = "127.0.0.1:${clusterPort}"
  tls_disable = true
}
api_addr = "http://127.0.0.1:${port}"
cluster_addr = "https://127.0.0.1:${clusterPort}"
log_level = "warn"
disable_mlock = true
`;
}
