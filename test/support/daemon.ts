/**
 * The real daemon, as a process of its own, on a port of its own, in a directory of its own; with
 * real clients beside it. Tests that need it run on the built program: `npm test` builds first.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import {
  accessSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
} from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, vi } from 'vitest';
import { freePort } from './machine.ts';
import { findProgram } from './programs.ts';

const ROOT = join(import.meta.dirname, '../..');
const MAIN = join(ROOT, 'dist/main.js');

export const EXAMPLE_PLATFORM = join(ROOT, 'examples/platform');
export const API = '/kubernetes/management/apis/management.gitplane.dev/v1';
export const RBAC = '/kubernetes/management/apis/rbac.authorization.k8s.io/v1';

export interface Answer {
  readonly code: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** The body as JSON; throws when it is none. */
  // biome-ignore lint/suspicious/noExplicitAny: tests reach into answers of every shape
  json(): any;
}

export interface CallOptions {
  readonly body?: string | Buffer | object;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** null: no Authorization header at all. */
  readonly token?: string | null;
}

export interface RunResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Daemon {
  readonly url: string;
  readonly port: number;
  readonly dataDir: string;
  readonly token: string;
  readonly process: ChildProcess;
  /** What the daemon wrote to its standard output and error so far. */
  output(): string;
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  kubectl(
    args: readonly string[],
    options?: { input?: string; version?: string },
  ): Promise<RunResult>;
  git(args: readonly string[], cwd: string): Promise<RunResult>;
  /** Clones the hosted repository over HTTPS into a fresh folder and returns it. */
  clone(): Promise<string>;
  /** Ends the process; SIGTERM unless told otherwise. Resolves with the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

export interface DaemonSetup {
  /** Another build than that of the checkout. */
  readonly main?: string;
  /** An existing data directory to continue with; a fresh one when absent. */
  readonly dataDir?: string;
  readonly seed?: string | undefined;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** An access key for a daemon that makes no administrator of its own. */
  readonly token?: string;
  /** Arguments of node itself. */
  readonly node?: readonly string[];
  /** What runs node, such as `nsenter` with its arguments. */
  readonly via?: readonly string[];
  /** Called with the process, which may never serve, and what it has said so far. */
  readonly onSpawn?: (child: ChildProcess, output: () => string) => void;
  /** In a process group of its own, so that it can be ended together with its children. */
  readonly detached?: boolean;
}

const scratch: string[] = [];

/** A folder that goes away when the tests of the file are done. */
export function scratchDir(prefix = 'gitplane-test-'): string {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  scratch.push(folder);
  return folder;
}

// Registered first, it runs last: after the daemons in the folders have stopped.
afterAll(() => {
  for (const folder of scratch) rmSync(folder, { recursive: true, force: true });
});

/** Starts the daemon and waits until it serves. Rejects with its output when it ends before. */
export async function startDaemon(setup: DaemonSetup = {}): Promise<Daemon> {
  const { main = MAIN } = setup;
  if (!existsSync(main)) throw new Error(`${main} is missing: run npm run build first`);
  const dataDir = setup.dataDir ?? join(scratchDir(), 'data');
  const seed = 'seed' in setup ? setup.seed : EXAMPLE_PLATFORM;
  const args = ['serve', '--data-dir', dataDir, '--listen', `127.0.0.1:${await freePort()}`];
  if (seed !== undefined) args.push('--seed', seed);
  const node = [process.execPath, ...(setup.node ?? [])];
  const [program = '', ...words] = [...(setup.via ?? []), ...node, main, ...args];
  const child = spawn(program, [...words, ...(setup.args ?? [])], {
    env: { ...process.env, ...setup.env },
    detached: setup.detached ?? false,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  setup.onSpawn?.(child, () => output);
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk;
  });
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk;
  });
  await new Promise<void>((resolve, reject) => {
    const look = (): void => {
      if (output.includes('Try next')) resolve();
    };
    child.stdout.on('data', look);
    // After its output: `exit` may come before the last of it.
    child.on('close', (code) => reject(new Error(`The daemon ended with ${code}:\n${output}`)));
    child.on('error', reject);
  });
  // Serves without, where the first leader of its replicas took long to make it.
  if (setup.token === undefined) await vi.waitFor(() => accessSync(join(dataDir, 'admin.token')));
  const [, host = '', port] = /https:\/\/(\d+(?:\.\d+){3}):(\d+)/.exec(output) ?? [];
  const { token } = setup;
  const address = { host, port: Number(port) };
  return new RunningDaemon({ child, dataDir, ...address, token, output: () => output });
}

/** Longer than any request may take, and shorter than a test: a request that hangs is named. */
const ANSWER_MS = 120_000;
/** The same for a command of git. */
const GIT_MS = 200_000;
/** Characters of the daemon's output in a message. */
const OUTPUT_TAIL = 4000;

class RunningDaemon implements Daemon {
  readonly url: string;
  readonly port: number;
  readonly dataDir: string;
  readonly token: string;
  readonly process: ChildProcess;
  readonly output: () => string;
  readonly #ca: string | undefined;
  readonly #home = scratchDir('gitplane-home-');

  constructor(of: {
    child: ChildProcess;
    dataDir: string;
    host: string;
    port: number;
    token: string | undefined;
    output: () => string;
  }) {
    this.process = of.child;
    this.dataDir = of.dataDir;
    this.port = of.port;
    this.output = of.output;
    this.url = `https://${of.host}:${of.port}`;
    this.token = of.token ?? readFileSync(join(of.dataDir, 'admin.token'), 'utf8').trim();
    const ca = join(of.dataDir, 'tls/ca.crt');
    // None is made beside a certificate that the daemon was given.
    this.#ca = existsSync(ca) ? readFileSync(ca, 'utf8') : undefined;
  }

  call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const { body, token = this.token } = options;
    const raw = typeof body === 'string' || Buffer.isBuffer(body) || body === undefined;
    const bytes = raw ? body : JSON.stringify(body);
    const headers = {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(options.type === undefined && raw
        ? {}
        : { 'content-type': options.type ?? 'application/json' }),
      // Node sends the bodies of GET and DELETE without any length unless it is told.
      ...(bytes === undefined ? {} : { 'content-length': String(Buffer.byteLength(bytes)) }),
      ...options.headers,
    };
    return new Promise((resolve, reject) => {
      const sent = request(`${this.url}${path}`, { method, headers, ca: this.#ca }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          const { statusCode: code = 0, headers: received } = response;
          resolve({ code, headers: received, text, json: () => JSON.parse(text) });
        });
      });
      sent.on('error', reject);
      const late = setTimeout(() => {
        const tail = this.output().slice(-OUTPUT_TAIL);
        sent.destroy(new Error(`${method} ${path}: no answer for ${ANSWER_MS} ms\n${tail}`));
      }, ANSWER_MS);
      sent.on('close', () => clearTimeout(late));
      sent.end(bytes);
    });
  }

  kubectl(
    args: readonly string[],
    options: { input?: string; version?: string } = {},
  ): Promise<RunResult> {
    const program = findKubectl(options.version ?? '1.32');
    if (program === undefined) throw new Error('kubectl is missing');
    const config = ['--kubeconfig', join(this.dataDir, 'kubeconfig')];
    return run(program, [...config, ...args], {
      env: { ...process.env, HOME: this.#home, KUBECONFIG: '' },
      input: options.input,
    });
  }

  git(args: readonly string[], cwd: string): Promise<RunResult> {
    return run('git', args, {
      cwd,
      timeoutMs: GIT_MS,
      env: {
        ...process.env,
        HOME: this.#home,
        GIT_SSL_CAINFO: join(this.dataDir, 'tls/ca.crt'),
        GIT_TERMINAL_PROMPT: '0',
        GIT_CONFIG_GLOBAL: '/dev/null',
        GIT_AUTHOR_NAME: 'Ann Author',
        GIT_AUTHOR_EMAIL: 'ann@example.com',
        GIT_COMMITTER_NAME: 'Ann Author',
        GIT_COMMITTER_EMAIL: 'ann@example.com',
      },
    });
  }

  async clone(): Promise<string> {
    const folder = join(scratchDir('gitplane-clone-'), 'platform');
    const url = `${this.url.replace('//', `//admin:${this.token}@`)}/git/platform.git`;
    const { code, stderr } = await this.git(['clone', '--quiet', url, folder], tmpdir());
    if (code !== 0) throw new Error(`git clone failed: ${stderr}`);
    return folder;
  }

  stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) {
      return Promise.resolve(this.process.exitCode);
    }
    return new Promise((resolve) => {
      // After its output. What a killed one leaves behind may hold its pipes open.
      this.process.on(signal === 'SIGKILL' ? 'exit' : 'close', (code) => resolve(code));
      this.process.kill(signal);
    });
  }
}

/** The kubectl of a minor version (`1.32`): by its own name, or beside the `kubectl` on the PATH. */
export function findKubectl(version: string): string | undefined {
  const named = findProgram(`kubectl.${version}`);
  if (named !== undefined) return named;
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const plain = join(folder, 'kubectl');
    if (!existsSync(plain)) continue;
    const beside = join(dirname(realpathSync(plain)), `kubectl.${version}`);
    if (existsSync(beside)) return beside;
    return version === '1.32' && !hasVersionsBeside(plain) ? plain : undefined;
  }
  return undefined;
}

function hasVersionsBeside(program: string): boolean {
  return readdirSync(dirname(realpathSync(program))).some((name) => /^kubectl\.\d/.test(name));
}

export function run(
  program: string,
  args: readonly string[],
  options: {
    cwd?: string;
    env?: NodeJS.ProcessEnv;
    input?: string | undefined;
    /** The program is killed then, and its errors say so. */
    timeoutMs?: number;
  } = {},
): Promise<RunResult> {
  const { cwd, env, timeoutMs = 0 } = options;
  return new Promise((resolve) => {
    const child = execFile(
      program,
      [...args],
      { cwd, env, maxBuffer: 64 * 1024 * 1024, timeout: timeoutMs, killSignal: 'SIGKILL' },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
        const late = timeoutMs > 0 && error?.killed === true;
        const end = late ? `\n${program} ${args.join(' ')}: no end after ${timeoutMs} ms` : '';
        resolve({ code, stdout, stderr: stderr + end });
      },
    );
    // A program that ends before it read everything breaks the pipe; its exit status tells.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(options.input ?? '');
  });
}
