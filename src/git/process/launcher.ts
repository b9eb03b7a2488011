/**
 * The daemon's side of the launcher, a small process that starts git. The kernel copies the page tables
 * of the process that starts another one: in a daemon of 350 MB this stops the event loop for 10 ms.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { type Duplex, Writable } from 'node:stream';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Backoff, deferred, RetryDelay } from '../../concurrency/index.ts';
import { inheritedEnvironment } from './git-environment.ts';
import {
  type Command,
  type LauncherRequest,
  type LaunchReport,
  type ProcessReport,
  streamsOf,
  tokenOf,
} from './launcher-protocol.ts';
import { type Ending, outputEnded, type StartedProcess } from './started-process.ts';

/** Between the end of a launcher and the start of the next. Until then processes are started without one. */
const RESTART: Backoff = { firstMs: 10_000, lastMs: 600_000 };
/** A launcher that worked for so long was no failure. */
const STEADY_MS = 60_000;
const CHECK_MS = 1_000;
/** Checks without an answer before the launcher is killed: a busy machine is slow, and no failure. */
const MOST_UNANSWERED = 30;

export interface LauncherOptions {
  /** Time between two checks of the launcher while processes run. */
  readonly checkMs?: number;
  /** Folder in which it makes its own. */
  readonly temporaryFolder?: string;
}

/**
 * Gets the daemon's end of file descriptor 3. It may write only in answer to the process: the launcher reads
 * what comes before the process has the connection.
 */
type Extra = (connection: Duplex) => void;

let current: Launcher | undefined;
let options: LauncherOptions = {};
let nextStart = Number.POSITIVE_INFINITY;
const restarts = new RetryDelay(RESTART);

/** Git is started by a process of its own, as soon as this resolves. The launcher ends with this process. */
export async function startLauncher(wanted: LauncherOptions = {}): Promise<void> {
  if (process.platform === 'win32') return;
  options = wanted;
  await start();
}

async function start(): Promise<void> {
  // Until the launcher is lost.
  nextStart = Number.POSITIVE_INFINITY;
  const begun = performance.now();
  const lost = (): void => {
    if (performance.now() - begun > STEADY_MS) restarts.reset();
    nextStart = performance.now() + restarts.next();
  };
  try {
    current = new Launcher(options, lost);
    await current.ready;
  } catch {
    // The system has no memory for another process, for example.
    lost();
  }
}

/** Undefined: no launcher is ready, so that the caller starts the process itself. See `spawnProcess`. */
export function launch(command: Command, extra?: Extra): StartedProcess | undefined {
  if (performance.now() >= nextStart) void start();
  return current?.launch(command, extra);
}

class Launcher {
  readonly #program: ChildProcess;
  readonly #running = new Map<number, LaunchedProcess>();
  readonly #checkMs: number;
  readonly #lost: () => void;
  #socketPath: string | undefined;
  #last = 0;
  #check: NodeJS.Timeout | undefined;
  #unanswered = 0;
  #isLost = false;
  readonly #ready = deferred<void>();

  constructor(
    { checkMs = CHECK_MS, temporaryFolder = tmpdir() }: LauncherOptions,
    lost: () => void,
  ) {
    this.#checkMs = checkMs;
    this.#lost = lost;
    // Options of this process, as for a debugger, are not for the launcher.
    this.#program = fork(program(), [temporaryFolder], {
      execArgv: [...loader(), '--max-semi-space-size=1'],
      env: inheritedEnvironment(),
      // Signals of the terminal go to the daemon alone.
      detached: true,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#program.on('message', (report: LaunchReport) => this.#take(report));
    this.#program.once('error', () => this.#lose());
    // Later than its last report, unlike its exit.
    this.#program.once('disconnect', () => this.#lose());
    // The daemon may end while the launcher waits for work.
    this.#program.unref();
    this.#program.channel?.unref();
  }

  /** Resolves when the launcher accepts launches, or has ended. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  launch(command: Command, extra: Extra | undefined): StartedProcess | undefined {
    if (this.#socketPath === undefined || !this.#program.connected) return undefined;
    const id = ++this.#last;
    const launched = new LaunchedProcess({
      id,
      socketPath: this.#socketPath,
      isGroup: command.detached,
      extra,
      cancel: () => this.#send({ cancelled: id }),
    });
    this.#running.set(id, launched);
    void launched.ended.then(() => this.#finish(id));
    this.#send({ id, streams: streamsOf(extra !== undefined), ...command });
    this.#watch();
    return launched;
  }

  #finish(id: number): void {
    this.#running.delete(id);
    if (this.#running.size > 0) return;
    clearInterval(this.#check);
    this.#check = undefined;
  }

  /** Kills a launcher that no longer answers: neither starts nor ends of processes would be reported. */
  #watch(): void {
    if (this.#check !== undefined) return;
    this.#unanswered = 0;
    this.#check = setInterval(() => {
      this.#unanswered += 1;
      if (this.#unanswered > MOST_UNANSWERED) this.#program.kill('SIGKILL');
      else if (this.#unanswered === 1) this.#send({ isCheck: true });
      for (const launched of this.#running.values()) launched.check();
    }, this.#checkMs).unref();
  }

  #send(message: LauncherRequest): void {
    // A channel that has closed is reported by the end of the launcher.
    this.#program.send(message, () => undefined);
  }

  #take(report: LaunchReport): void {
    if ('socketPath' in report) {
      this.#socketPath = report.socketPath;
      this.#ready.resolve();
    } else if ('isCheck' in report) {
      this.#unanswered = 0;
    } else {
      this.#running.get(report.id)?.take(report);
    }
  }

  #lose(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    const path = this.#socketPath;
    this.#socketPath = undefined;
    clearInterval(this.#check);
    this.#lost();
    this.#ready.resolve();
    for (const launched of this.#running.values()) launched.lose();
    if (path === undefined) return;
    // A launcher that was killed leaves its folder.
    rm(dirname(path), { recursive: true, force: true }).catch(() => undefined);
  }
}

interface LaunchedProcessParts {
  readonly id: number;
  readonly socketPath: string;
  /** True if the process leads a process group. */
  readonly isGroup: boolean;
  readonly extra: Extra | undefined;
  /** Tells the launcher that the process must not start. */
  cancel(): void;
}

class LaunchedProcess implements StartedProcess {
  readonly stdin: Writable;
  readonly stdout: Socket;
  readonly stderr: Socket;
  readonly ended: Promise<Ending>;
  readonly #started = deferred<void>();
  readonly #reported = deferred<Ending>();
  readonly #isGroup: boolean;
  /** Streams that the process writes. */
  readonly #outputs: readonly Socket[];
  readonly #fail: (failure: Error) => void;
  #pid: number | undefined;
  #isReported = false;
  #checks = 0;

  constructor({ id, socketPath, isGroup, extra, cancel }: LaunchedProcessParts) {
    this.#isGroup = isGroup;
    this.#fail = (failure: Error): void => {
      if (this.#pid !== undefined || this.#isReported) return;
      cancel();
      this.#giveUp(failure);
    };
    // Without the code of the error: ENOENT would tell of a git that is not installed.
    const fail = ({ message }: Error): void =>
      this.#fail(new Error(`the launcher of git closed a connection: ${message}`));
    const opened = (): Socket => connect(socketPath).on('error', fail);
    const duplex = (stream: number): Socket => {
      const connection = opened();
      connection.write(tokenOf(id, stream));
      return connection;
    };
    this.stdin = heldInput(duplex(0), this.started);
    const output = (stream: number): Socket => opened().end(tokenOf(id, stream));
    this.stdout = output(1);
    this.stderr = output(2);
    this.#outputs = [this.stdout, this.stderr];
    if (extra !== undefined) {
      const connection = duplex(3);
      this.#outputs = [...this.#outputs, connection];
      extra(connection);
    }
    this.ended = this.#reported.promise.then(async (ending) => {
      this.stdin.destroy();
      await outputEnded(this.#outputs);
      return ending;
    });
  }

  get pid(): number | undefined {
    return this.#pid;
  }

  get started(): Promise<void> {
    return this.#started.promise;
  }

  take(report: ProcessReport): void {
    if ('pid' in report) {
      this.#pid = report.pid;
      // It was started in the moment in which its start was given up.
      if (this.#isReported) this.#kill();
      this.#started.resolve();
    } else if ('failure' in report) {
      const failure = Object.assign(new Error(report.failure), { code: report.errorCode });
      this.#end({ code: null, signal: null, failure });
    } else {
      const { code, signal } = report;
      this.#end({ code, signal });
    }
  }

  /** Fails a start whose connections were lost: a launcher without free file descriptors closes them. */
  check(): void {
    this.#checks += 1;
    if (this.#checks <= MOST_UNANSWERED) return;
    this.#fail(new Error('the launcher of git did not start it in time'));
  }

  /** The launcher ended: this process cannot report its end, so it is killed, with its children. */
  lose(): void {
    this.#kill();
    this.#giveUp(new Error('the launcher of git ended'));
  }

  /** Its end will not be reported. */
  #giveUp(failure: Error): void {
    for (const one of this.#outputs) one.destroy();
    this.#end({ code: null, signal: null, failure, mayHaveRun: true });
  }

  #kill(): void {
    const pid = this.#pid;
    try {
      if (pid !== undefined) process.kill(this.#isGroup ? -pid : pid, 'SIGKILL');
    } catch {
      // All of them have ended.
    }
  }

  #end(ending: Ending): void {
    this.#isReported = true;
    this.#started.resolve();
    this.#reported.resolve(ending);
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
