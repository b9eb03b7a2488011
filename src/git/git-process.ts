/** Starting git: never through a shell, always with our environment, errors in git's own words. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { type GitContext, gitEnvironment } from './git-environment.ts';
import { errorCode, GitError } from './git-error.ts';

const STDERR_LIMIT = 8 * 1024;

export function spawnGit(
  context: GitContext,
  args: readonly string[],
): ChildProcessWithoutNullStreams {
  const child = spawn('git', args, {
    cwd: context.gitDir,
    env: gitEnvironment(context),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  // A process that ends early is reported by its exit, not by the pipe to it.
  child.stdin.on('error', () => undefined);
  return child;
}

/** Keeps the end of what a process says on stderr. */
export function collectStderr(child: ChildProcessWithoutNullStreams): () => string {
  let tail = Buffer.alloc(0);
  child.stderr.on('data', (chunk: Buffer) => {
    tail = Buffer.concat([tail, chunk]).subarray(-STDERR_LIMIT);
  });
  return () => tail.toString('utf8').trim();
}

/** How a process ended; never rejects. A process that did not start has a `failure` only. */
export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly failure?: Error;
}

export function ending(child: ChildProcessWithoutNullStreams): Promise<Ending> {
  return new Promise((resolve) => {
    child.once('error', (failure) => resolve({ code: null, signal: null, failure }));
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
}

/** The error for a git process that did not do its work. */
export function processError(args: readonly string[], end: Ending, stderr: string): GitError {
  if (end.failure !== undefined) {
    return errorCode(end.failure) === 'ENOENT'
      ? new GitError('git cannot be started', {
          remedy: 'Install git 2.36 or newer and put it on the PATH',
          cause: end.failure,
        })
      : new GitError(`git cannot be started: ${end.failure.message}`, { cause: end.failure });
  }
  const how = end.signal === null ? `exit code ${end.code}` : `signal ${end.signal}`;
  const said = stderr === '' ? '' : `: ${stderr.replaceAll(/\s*\n\s*/g, '; ')}`;
  return new GitError(`git ${args[0]} failed with ${how}${said}`);
}

export interface GitResult {
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** Runs git to its end. Rejects only when it was not started or was killed. */
export async function tryGit(context: GitContext, args: readonly string[]): Promise<GitResult> {
  const child = spawnGit(context, args);
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  const stderr = collectStderr(child);
  child.stdin.end();
  const end = await ending(child);
  if (end.code === null) throw processError(args, end, stderr());
  return { code: end.code, stdout: Buffer.concat(chunks), stderr: stderr() };
}

/** Runs git to its end and returns its output. Rejects with git's own words when it fails. */
export async function runGit(context: GitContext, args: readonly string[]): Promise<Buffer> {
  const { code, stdout, stderr } = await tryGit(context, args);
  if (code !== 0) throw processError(args, { code, signal: null }, stderr);
  return stdout;
}
