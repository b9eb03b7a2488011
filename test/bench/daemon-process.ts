/** The real daemon as a process of its own, as an operator would run it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { API_GROUP } from './corpus.ts';
import type { Endpoint } from './http-connection.ts';
import type { Workspace } from './workspace.ts';

/** The corpus holds its secrets in the clear; what sealing costs is not what is measured. */
const PLAIN = ['--allow-plaintext-secrets'];

export const API = `/kubernetes/management/apis/${API_GROUP}/v1`;
const STOP_WITHIN_MS = 20_000;
/** The program that is measured. */
export const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

export interface DaemonProcess {
  /** From the start of the process until it served. */
  readonly readyMs: number;
  readonly http: Endpoint;
  readonly https: Endpoint;
  readonly token: string;
  /** Resident memory, in bytes; undefined where the system does not tell. */
  memory(): number | undefined;
  /** Processor time used so far, in steps of 10 ms; undefined where the system does not tell. */
  processorMs(): number | undefined;
  /** Resolves with the exit code; null: it had to be killed. */
  stop(): Promise<number | null>;
  /** SIGKILL; resolves when it has ended. */
  kill(): Promise<unknown>;
}

export interface DaemonSetup {
  readonly workspace: Workspace;
  readonly dataDir: string;
  /** Where a CPU profile of the daemon goes. */
  readonly profile: string | undefined;
  /** More arguments of `serve`. */
  readonly args?: readonly string[];
}

/** Resolves when the daemon serves; rejects with its output when it ends before. */
export async function startDaemon(setup: DaemonSetup): Promise<DaemonProcess> {
  const httpPort = await freePort();
  const profiling =
    setup.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${setup.profile}`];
  const listen = ['--listen', '127.0.0.1:0', '--listen-http', `127.0.0.1:${httpPort}`];
  const args = [
    MAIN,
    'serve',
    '--data-dir',
    setup.dataDir,
    ...listen,
    '--log-level',
    'warn',
    ...PLAIN,
    ...(setup.args ?? []),
  ];
  const started = performance.now();
  const child = setup.workspace.adopt(
    spawn(process.execPath, [...process.execArgv, ...profiling, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  );
  const output = await untilServing(child);
  const readyMs = performance.now() - started;
  const port = Number(/https:\/\/127\.0\.0\.1:(\d+)/.exec(output)?.[1]);
  return {
    readyMs,
    http: { port: httpPort },
    https: { port, ca: readFileSync(join(setup.dataDir, 'tls', 'ca.crt'), 'utf8') },
    token: readFileSync(join(setup.dataDir, 'admin.token'), 'utf8').trim(),
    memory: () => residentBytes(child.pid),
    processorMs: () => processorMs(child.pid),
    stop: () => stop(child),
    kill: () => stop(child, 'SIGKILL'),
  };
}

async function untilServing(child: ChildProcess): Promise<string> {
  let output = '';
  const collect = (chunk: Buffer): void => {
    output += chunk;
  };
  child.stdout?.on('data', collect);
  child.stderr?.on('data', collect);
  await new Promise<void>((resolve, reject) => {
    child.stdout?.on('data', () => {
      if (output.includes('Try next')) resolve();
    });
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`The daemon ended with ${code}:\n${output}`)));
  });
  return output;
}

async function stop(
  child: ChildProcess,
  signal: NodeJS.Signals = 'SIGTERM',
): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const exited = once(child, 'exit');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS);
  child.kill(signal);
  await exited;
  clearTimeout(timer);
  return child.exitCode;
}

/** One that nobody had a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Undefined where the system does not tell. */
export function residentBytes(pid: number | undefined): number | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
    return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
  } catch {
    return undefined;
  }
}

/** Linux counts a hundredth of a second as one, on every machine that Node runs on. */
const TICK_MS = 10;

function processorMs(pid: number | undefined): number | undefined {
  try {
    const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
    const [user, system] = fields.split(' ').slice(11, 13).map(Number);
    return user === undefined || system === undefined ? undefined : (user + system) * TICK_MS;
  } catch {
    return undefined;
  }
}
