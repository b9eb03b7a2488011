/**
 * Git's smart HTTP protocol (gitprotocol-http) below any HTTP framework: streams in, streams out.
 * Authentication, gzip of request bodies, content types and limits are the server's.
 */
import type { Readable, Writable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import type { GitContext } from './git-environment.ts';
import { collectStderr, ending, spawnGit } from './git-process.ts';

export type GitService = 'git-upload-pack' | 'git-receive-pack';

export interface ServeOptions {
  /** The client's `Git-Protocol` header. */
  readonly gitProtocol?: string | undefined;
  /** More for the environment of the service and its hooks. */
  readonly env?: Readonly<Record<string, string>>;
  /** Kills the service; an update of a ref is then whole or not there. */
  readonly signal?: AbortSignal;
}

export interface ServeResult {
  /** Null when the service was killed. */
  readonly code: number | null;
  readonly stderr: string;
}

/** What a `Git-Protocol` header may hold: `version=2` and the like. Anything else is ignored. */
const protocolHeader = /^[\w=:.-]{1,200}$/;

/** Whether a name from a URL is a service: the one check before `advertiseRefs` or `serveRpc`. */
export function isGitService(name: string): name is GitService {
  return name === 'git-upload-pack' || name === 'git-receive-pack';
}

/** The answer to `GET /info/refs?service=…`. Resolves when it was written and `response` ended. */
export function advertiseRefs(
  repository: { readonly gitDir: string },
  request: { readonly service: GitService; readonly response: Writable },
  options: ServeOptions = {},
): Promise<ServeResult> {
  const { service, response } = request;
  // Version 2 has no such line: there the service speaks first (as in git http-backend).
  if (!isVersion2(options.gitProtocol)) {
    response.write(`${pktLine(`# service=${service}\n`)}0000`);
  }
  const args = [subcommand(service), '--stateless-rpc', '--advertise-refs', repository.gitDir];
  return run(contextOf(repository, options), args, { response, signal: options.signal });
}

/** The answer to `POST /<service>`. Resolves when it was written and `response` ended. */
export function serveRpc(
  repository: { readonly gitDir: string },
  exchange: {
    readonly service: GitService;
    readonly request: Readable;
    readonly response: Writable;
  },
  options: ServeOptions = {},
): Promise<ServeResult> {
  const { service, request, response } = exchange;
  const args = [subcommand(service), '--stateless-rpc', repository.gitDir];
  return run(contextOf(repository, options), args, { request, response, signal: options.signal });
}

function subcommand(service: GitService): string {
  return service.slice('git-'.length);
}

function isVersion2(gitProtocol: string | undefined): boolean {
  return gitProtocol?.split(':').includes('version=2') ?? false;
}

/** A line of the pkt-line format: its length with the four digits, then the text. */
function pktLine(text: string): string {
  return (text.length + 4).toString(16).padStart(4, '0') + text;
}

function contextOf(repository: { readonly gitDir: string }, options: ServeOptions): GitContext {
  const { gitProtocol } = options;
  const safe = gitProtocol !== undefined && protocolHeader.test(gitProtocol);
  return {
    gitDir: repository.gitDir,
    env: { ...options.env, ...(safe && { GIT_PROTOCOL: gitProtocol }) },
  };
}

interface Streams {
  readonly request?: Readable;
  readonly response: Writable;
  readonly signal: AbortSignal | undefined;
}

/**
 * Ends an answer. One whose service was killed is cut off instead: a client that reads half of it to
 * a regular end waits for the rest for ever.
 */
async function finish(response: Writable, code: number | null): Promise<void> {
  if (code === null) {
    response.destroy();
    return;
  }
  response.end();
  await finished(response).catch(() => undefined);
}

async function run(
  context: GitContext,
  args: readonly string[],
  { request, response, signal }: Streams,
): Promise<ServeResult> {
  const child = spawnGit(context, args);
  const stderr = collectStderr(child);
  const end = ending(child);
  const kill = () => child.kill('SIGTERM');
  if (signal?.aborted) kill();
  signal?.addEventListener('abort', kill, { once: true });
  // A service that has seen enough ends before its input does: that is no failure.
  const input =
    request === undefined
      ? child.stdin.end()
      : pipeline(request, child.stdin).catch(() => undefined);
  try {
    await pipeline(child.stdout, response, { end: false });
  } catch {
    // The client went away, or the service could not be started.
    kill();
  }
  const { code, failure } = await end;
  await finish(response, code);
  signal?.removeEventListener('abort', kill);
  void input;
  return { code, stderr: failure === undefined ? stderr() : failure.message };
}
