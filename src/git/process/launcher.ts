/**
 * The daemon's side of the launcher, a small process that starts git. The kernel copies the page tables
 * of the process that starts another one: in a daemon of 350 MB this stops the event loop for 10 ms.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { createRequire } from 'node:module';
import { connect, type Socket } from 'node:net';
import { Writable } from 'node:stream';
import { fileURLToPath, pathToFileURL } from 'node:url';
import {
  type CancelledLaunch,
  type Command,
  type Launch,
  type LaunchReport,
  tokenOf,
} from './launcher-protocol.ts';
import { type Ending, outputEnded, type StartedProcess } from './started-process.ts';

/** After a launcher ended by itself. Until then processes are started without one. */
const RESTART_AFTER_MS = 10_000;

let current: Launcher | undefined;
let nextStart = Number.POSITIVE_INFINITY;

/** Git is started by a process of its own, as soon as this resolves. The launcher ends with this process. */
export async function startLauncher(): Promise<void> {
  if (process.platform === 'win32') return;
  nextStart = performance.now() + RESTART_AFTER_MS;
  current = new Launcher();
  await current.ready;
}

/** Undefined: no launcher is ready, so that the caller starts the process itself. */
export function launch(command: Command): StartedProcess | undefined {
  if (current?.isLost === true && performance.now() >= nextStart) void startLauncher();
  return current?.launch(command);
}

class Launcher {
  readonly #program: ChildProcess;
  readonly #running = new Map<number, LaunchedProcess>();
  #socketPath: string | undefined;
  #last = 0;
  isLost = false;
  /** Resolves when the launcher accepts launches, or has ended. */
  readonly ready: Promise<void>;
  #resolveReady: () => void = () => undefined;

  constructor() {
    this.ready = new Promise((resolve) => {
      this.#resolveReady = resolve;
    });
    // Options of this process, as for a debugger, are not for the launcher.
    this.#program = fork(program(), [], {
      execArgv: [...loader(), '--max-semi-space-size=1'],
      env: {},
      // Signals of the terminal go to the daemon alone.
      detached: true,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#program.on('message', (report: LaunchReport) => this.#take(report));
    this.#program.once('error', () => this.#lose());
    this.#program.once('exit', () => this.#lose());
    // The daemon may end while the launcher waits for work.
    this.#program.unref();
    this.#program.channel?.unref();
  }

  launch(command: Command): StartedProcess | undefined {
    if (this.#socketPath === undefined || !this.#program.connected) return undefined;
    const id = ++this.#last;
    const launched = new LaunchedProcess(id, this.#socketPath, () => this.#send({ cancelled: id }));
    this.#running.set(id, launched);
    void launched.ended.then(() => this.#running.delete(id));
    this.#send({ id, ...command });
    return launched;
  }

  #send(message: Launch | CancelledLaunch): void {
    // A channel that has closed is reported by the end of the launcher.
    this.#program.send(message, () => undefined);
  }

  #take(report: LaunchReport): void {
    if ('socketPath' in report) {
      this.#socketPath = report.socketPath;
      this.#resolveReady();
    } else {
      this.#running.get(report.id)?.take(report);
    }
  }

  #lose(): void {
    this.isLost = true;
    this.#socketPath = undefined;
    this.#resolveReady();
    for (const launched of this.#running.values()) launched.lose();
  }
}

type ProcessReport = Exclude<LaunchReport, { socketPath: string }>;

class LaunchedProcess implements StartedProcess {
  readonly stdin: Writable;
  readonly stdout: Socket;
  readonly stderr: Socket;
  readonly started: Promise<void>;
  readonly ended: Promise<Ending>;
  #pid: number | undefined;
  #resolveStarted: () => void = () => undefined;
  #resolveEnded: (ending: Ending) => void = () => undefined;

  constructor(id: number, socketPath: string, cancel: () => void) {
    this.started = new Promise((resolve) => {
      this.#resolveStarted = resolve;
    });
    const failed = (failure: Error): void => {
      if (this.#pid !== undefined) return;
      cancel();
      for (const one of [this.stdout, this.stderr]) one.destroy();
      this.#end({ code: null, signal: null, failure });
    };
    const opened = (): Socket => connect(socketPath).on('error', failed);
    const [input, output, messages] = [opened(), opened(), opened()];
    input.write(tokenOf(id, 0));
    this.stdin = heldInput(input, this.started);
    this.stdout = output.end(tokenOf(id, 1));
    this.stderr = messages.end(tokenOf(id, 2));
    this.ended = new Promise<Ending>((resolve) => {
      this.#resolveEnded = resolve;
    }).then(async (ending) => {
      this.stdin.destroy();
      await outputEnded([output, messages]);
      return ending;
    });
  }

  get pid(): number | undefined {
    return this.#pid;
  }

  take(report: ProcessReport): void {
    if ('pid' in report) {
      this.#pid = report.pid;
      this.#resolveStarted();
    } else if ('failure' in report) {
      const failure = Object.assign(new Error(report.failure), { code: report.errorCode });
      this.#end({ code: null, signal: null, failure });
    } else {
      const { code, signal } = report;
      this.#end({ code, signal });
    }
  }

  /** The launcher ended: this process cannot report its end, so it is killed. */
  lose(): void {
    try {
      if (this.#pid !== undefined) process.kill(this.#pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
    for (const one of [this.stdout, this.stderr]) one.destroy();
    this.#end({ code: null, signal: null, failure: new Error('the launcher of git ended') });
  }

  #end(ending: Ending): void {
    this.#resolveStarted();
    this.#resolveEnded(ending);
  }
}

/** The launcher reads the token: what follows must wait until the process has the connection. */
function heldInput(socket: Socket, started: Promise<void>): Writable {
  const input = new Writable({
    construct: (done) => void started.then(() => done()),
    write: (chunk: Buffer, _encoding, done) => void socket.write(chunk, done),
    final: (done) => void socket.end(() => done()),
    destroy: (error, done) => {
      socket.destroy();
      done(error);
    },
  });
  socket.on('error', (error) => input.destroy(error));
  return input;
}

function program(): string {
  const isSource = import.meta.url.endsWith('.ts');
  return fileURLToPath(new URL(`./launcher-program.${isSource ? 'ts' : 'js'}`, import.meta.url));
}

/** During development tsx compiles the source. */
function loader(): string[] {
  if (!import.meta.url.endsWith('.ts')) return [];
  return ['--import', pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href];
}
