/**
 * Starts git for all callers: with a fixed environment, within limits, in a process group of its own,
 * and with the messages of git in the errors.
 */
import type { Duplex, Readable, Writable } from 'node:stream';
import { errorCode, GitError } from '../git-error.ts';
import { type GitContext, gitEnvironment } from './git-environment.ts';
import { launch } from './launcher.ts';
import { limitedCommand, NOT_FOUND } from './limited-command.ts';
import {
  GitLimitError,
  LISTING,
  type Limit,
  limitMet,
  MAX_MESSAGE_BYTES,
  type ProcessLimits,
  QUERY,
} from './process-limits.ts';
import { type Ending, type StartedProcess, spawnProcess } from './started-process.ts';

const STDERR_LIMIT = 8 * 1024;
const KILL_AFTER_MS = 2_000;

/** One git process. It is killed, with its children, when it exceeds a limit. */
export class GitProcess {
  readonly #child: StartedProcess;
  readonly #args: readonly string[];
  readonly #gitDir: string;
  readonly #limits: ProcessLimits;
  /** Never rejects. */
  readonly ended: Promise<Ending>;
  #stderr = Buffer.alloc(0);
  #met: Limit | undefined;
  #written = 0;
  #deadline: NodeJS.Timeout | undefined;
  #closed = false;

  /** `extra` gets the daemon's end of file descriptor 3 of the process and its children. */
  constructor(
    context: GitContext,
    args: readonly string[],
    limits: ProcessLimits = QUERY,
    extra?: (connection: Duplex) => void,
  ) {
    this.#args = args;
    this.#gitDir = context.gitDir;
    this.#limits = limits;
    this.#child = start(context, args, { ...limits, extra });
    const { stdin, stdout, stderr } = this.#child;
    // The exit code reports a process that ended early, not the broken pipe.
    stdin.on('error', () => undefined);
    let said = 0;
    stderr.on('data', (chunk: Buffer) => {
      said += chunk.length;
      if (said > MAX_MESSAGE_BYTES) {
        this.#met ??= 'messages';
        this.kill();
      }
      this.#stderr = Buffer.concat([this.#stderr, chunk]).subarray(-STDERR_LIMIT);
    });
    const isCounted = limits.replyTimeoutMs !== undefined || Number.isFinite(limits.outputBytes);
    if (isCounted) stdout.on('data', this.#count);
    this.endWithin(limits.deadlineMs);
    running.add(this);
    this.ended = this.#child.ended.finally(() => {
      this.#closed = true;
      running.delete(this);
      clearTimeout(this.#deadline);
    });
  }

  isPackingIn(gitDir: string): boolean {
    return this.#gitDir === gitDir && this.#args.some((word) => PACKING.has(word));
  }

  /** Undefined until `started`. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Resolves when the process runs or has failed to start. */
  get started(): Promise<void> {
    return this.#child.started;
  }

  get stdin(): Writable {
    return this.#child.stdin;
  }

  get stdout(): Readable {
    return this.#child.stdout;
  }

  /** Calls back with each part of stderr. */
  onMessage(listener: (text: string) => void): void {
    this.#child.stderr.on('data', (chunk: Buffer) => listener(chunk.toString('utf8')));
  }

  /** Last part of stderr. */
  get stderr(): string {
    return this.#stderr.toString('utf8').trim();
  }

  /** Limit for which this process was killed; undefined: none. */
  get met(): Limit | undefined {
    return this.#met;
  }

  /** Replaces the deadline, in milliseconds from now; Infinity: none. */
  endWithin(milliseconds: number): void {
    clearTimeout(this.#deadline);
    this.#deadline = undefined;
    if (!Number.isFinite(milliseconds)) return;
    this.#deadline = setTimeout(() => this.#exceed('time'), milliseconds).unref();
  }

  /** For a process that answers requests: starts or stops the time limit of a reply. */
  expectReply(isExpected: boolean): void {
    this.#written = 0;
    this.endWithin(
      isExpected
        ? (this.#limits.replyTimeoutMs ?? Number.POSITIVE_INFINITY)
        : Number.POSITIVE_INFINITY,
    );
  }

  /** Sends SIGTERM to the process group, and SIGKILL shortly after to what remains. */
  stop(): void {
    this.kill('SIGTERM');
    const timer = setTimeout(() => this.kill('SIGKILL'), KILL_AFTER_MS);
    void this.ended.then(() => clearTimeout(timer));
  }

  kill(signal: NodeJS.Signals = 'SIGKILL'): void {
    const { pid } = this.#child;
    if (this.#closed) return;
    if (pid === undefined) {
      void this.started.then(() => this.pid !== undefined && this.kill(signal));
      return;
    }
    try {
      process.kill(IN_GROUP ? -pid : pid, signal);
    } catch {
      // All processes of the group have ended.
    }
  }

  /** Limit that the process or one of its children exceeded. */
  limitOf({ signal }: Pick<Ending, 'signal'>): Limit | undefined {
    return this.#met ?? limitMet(signal, this.stderr);
  }

  /** Error for a failed process. */
  error(end: Ending): GitError {
    const limit = this.limitOf(end);
    return limit === undefined ? processError(this.#args, end, this.stderr) : this.errorFor(limit);
  }

  errorFor(limit: Limit): GitLimitError {
    return new GitLimitError(this.#args[0] ?? '', limit, this.#limits);
  }

  #exceed(limit: Limit): void {
    this.#met ??= limit;
    this.stop();
  }

  readonly #count = (chunk: Buffer): void => {
    this.#written += chunk.length;
    if (this.#limits.replyTimeoutMs !== undefined) this.#deadline?.refresh();
    if (this.#written > this.#limits.outputBytes) {
      this.#met ??= 'output';
      this.kill();
    }
  };
}

const IN_GROUP = process.platform !== 'win32';

const running = new Set<GitProcess>();

/** Commands that write packs beside those of the repository. */
const PACKING: ReadonlySet<string> = new Set(['fetch', 'index-pack', 'repack']);

/** True while a git process of the daemon may write a pack of a repository. */
export function isPacking(gitDir: string): boolean {
  return [...running].some((git) => git.isPackingIn(gitDir));
}

// Signals to the daemon do not reach a separate process group.
process.once('exit', () => {
  for (const git of running) git.kill('SIGTERM');
});

function start(
  context: GitContext,
  args: readonly string[],
  how: ProcessLimits & { readonly extra: ((connection: Duplex) => void) | undefined },
): StartedProcess {
  const [program, words] = limitedCommand('git', args, how);
  const command = {
    command: program,
    args: words,
    cwd: context.gitDir,
    env: gitEnvironment(context),
    detached: IN_GROUP,
  };
  return launch(command, how.extra) ?? spawnProcess(command, how.extra);
}

/** Error for a failed git process. */
export function processError(args: readonly string[], end: Ending, stderr: string): GitError {
  const { failure } = end;
  const isMissing =
    failure === undefined ? end.code === NOT_FOUND : errorCode(failure) === 'ENOENT';
  if (isMissing) {
    return new GitError('git cannot be started', {
      remedy: 'Install git 2.36 or newer and put it on the PATH',
      cause: failure,
    });
  }
  if (failure !== undefined) {
    return new GitError(`git cannot be started: ${failure.message}`, { cause: failure });
  }
  const how = end.signal === null ? `exit code ${end.code}` : `signal ${end.signal}`;
  const message = stderr === '' ? '' : `: ${stderr.replaceAll(/\s*\n\s*/g, '; ')}`;
  return new GitError(`git ${args[0]} failed with ${how}${message}`);
}

export interface GitResult {
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** Runs git to its end. Rejects only if it was not started, was killed, or exceeded a limit. */
export async function tryGit(
  context: GitContext,
  args: readonly string[],
  limits: ProcessLimits = QUERY,
): Promise<GitResult> {
  const git = new GitProcess(context, args, limits);
  const chunks: Buffer[] = [];
  git.stdout.on('data', (chunk: Buffer) => {
    if (git.met === undefined) chunks.push(chunk);
  });
  git.stdin.end();
  const end = await git.ended;
  const { stderr } = git;
  const failed = end.code === null || end.code === NOT_FOUND;
  if (failed || (end.code !== 0 && git.limitOf(end) !== undefined)) throw git.error(end);
  return { code: end.code, stdout: Buffer.concat(chunks), stderr };
}

/** Runs git to its end and returns its output. Rejects with the message of git if it fails. */
export async function runGit(
  context: GitContext,
  args: readonly string[],
  limits: ProcessLimits = QUERY,
): Promise<Buffer> {
  const { code, stdout, stderr } = await tryGit(context, args, limits);
  if (code !== 0) throw processError(args, { code, signal: null }, stderr);
  return stdout;
}

async function* lines(stream: Readable): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of stream) {
    const parts = (rest + chunk.toString('latin1')).split('\n');
    rest = parts.pop() ?? '';
    yield* parts;
  }
}

/** Lines of the output as they arrive. Rejects at the end with the message of git if it fails. */
export async function* gitLines(
  context: GitContext,
  args: readonly string[],
): AsyncGenerator<string> {
  const git = new GitProcess(context, args, LISTING);
  git.stdin.end();
  try {
    yield* lines(git.stdout);
    const end = await git.ended;
    if (end.code !== 0) throw git.error(end);
  } finally {
    git.kill();
    await git.ended;
  }
}
