/**
 * A branch of a remote repository: query, fetch, push. Each operation is one git process in a process
 * group of its own, so that a deadline ends its helpers too. Callers decide about retries.
 */
import { StringDecoder } from 'node:string_decoder';
import type { Counter } from '../../concurrency/index.ts';
import { isObjectId } from '../objects/object-id.ts';
import { type GitContext, MAX_PUSH_BYTES } from '../process/git-environment.ts';
import { GitProcess, processError } from '../process/git-process.ts';
import type { GitLimitError } from '../process/process-limits.ts';
import type { Ending } from '../process/started-process.ts';
import { type RemoteAccess, remoteSettings } from './access.ts';
import type { RemoteAddress } from './address.ts';
import { ExchangeTrace, TRACE_ENVIRONMENT } from './exchange-trace.ts';
import { countReceived, withoutProgress } from './fetch-progress.ts';
import { problemOf, RemoteError, sanitize } from './remote-error.ts';
import { removeTemporaryPacks } from './temporary-packs.ts';

/** Parser for the output of `git push --porcelain` about one ref. */

type PushReport =
  /** The remote has the commit, now or before. */
  | { readonly ended: 'accepted' }
  /** The branch of the remote is elsewhere, or another process was moving it. */
  | { readonly ended: 'moved' }
  /** The remote refuses it, with a short reason. */
  | { readonly ended: 'refused'; readonly reason: string }
  /** The output does not say if the ref moved. */
  | { readonly ended: 'unknown' };

/** `<flag> TAB <from>:<to> TAB <summary> [(<reason>)]` */
const LINE = /^([ +\-*!=])\t[^\t]*:(refs\/[^\t]+)\t(.*)$/;

const REASON = /\(([^()]*(?:\([^()]*\)[^()]*)*)\)\s*$/;

/** Another push was faster, in the words of the git server and of the usual forges. */
const LOST_RACE =
  /stale info|fetch first|non-fast-forward|cannot lock ref|failed to lock|failed to update ref|incorrect old value|reference already exists|atomic|fast-forward/i;

export interface RemoteTimeouts {
  /** The first fetch transfers the whole history. */
  readonly firstFetchMs: number;
  readonly fetchMs: number;
  /** Fetch of one commit that is on no followed branch. */
  readonly commitMs: number;
  readonly pushMs: number;
  readonly queryMs: number;
}

const TIMEOUTS: RemoteTimeouts = {
  firstFetchMs: 60 * 60_000,
  fetchMs: 5 * 60_000,
  commitMs: 60_000,
  pushMs: 30_000,
  queryMs: 10_000,
};

export interface RemoteOptions {
  readonly address: RemoteAddress;
  readonly access: RemoteAccess;
  /** Local repository for fetched and pushed objects. */
  readonly gitDir: string;
  /** Full name of the branch at the remote, as in `refs/heads/main`. */
  readonly ref: string;
  /** Local ref that holds the last known tip of the branch. */
  readonly trackingRef: string;
  readonly timeouts?: Partial<RemoteTimeouts>;
  /** Size of the pack of a fetch after the first. Default: that of a push. */
  readonly maxFetchBytes?: number;
  /** Called right before every push; throws if this process must not write any more. */
  readonly assertMayAct?: (() => void) | undefined;
}

export interface RemotePush {
  readonly tip: string;
  /** Required value of the branch at the remote; undefined: it must not exist. */
  readonly expected: string | undefined;
  /** Object directory with the objects that are not in the repository yet. */
  readonly objects?: string | undefined;
  /** Aborts the push, with the result of a timeout. */
  readonly signal?: AbortSignal | undefined;
}

/** One ref of a push: its required value and its new one. */
export interface RefMove {
  readonly ref: string;
  /** Undefined: it must not exist. */
  readonly expected: string | undefined;
  readonly to: string;
}

export interface MovedRefs {
  /** In the order of the moves. */
  readonly results: readonly RemotePushResult[];
  /** False: an atomic push was requested and the remote does not support it. Nothing was sent. */
  readonly isAtomic: boolean;
}

export type RemotePushResult =
  | Exclude<PushReport, { ended: 'refused' }>
  | { readonly ended: 'refused'; readonly error: RemoteError };

/** Name of the remote in the config of each process. No config file has such a remote. */
const NAME = 'followed';
/** A connection without data for this long is dead. */
const ALIVE = [
  ['http.lowSpeedLimit', '1'],
  ['http.lowSpeedTime', '30'],
] as const;
/** A fetch writes objects, the ref that is asked for, and nothing else. */
const ALONE = ['--no-tags', '--no-write-fetch-head', '--no-auto-maintenance'];
/** Output of git about an exchange, in bytes. Git passes on the refs of a remote without a limit of its own. */
const MAX_OUTPUT = 8 * 1024 * 1024;
/** Branches of a remote that an error can name. */
const MAX_NAMES = 20;
const HEADS = 'refs/heads/';

interface Finished extends Ending {
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
  /** The limit other than time that git met, and its remedy. */
  readonly limit: GitLimitError | undefined;
  /** The caller aborted it. */
  readonly aborted: boolean;
  readonly trace: ExchangeTrace;
}

export class Remote {
  readonly ref: string;
  readonly trackingRef: string;
  readonly #options: RemoteOptions;
  readonly #timeouts: RemoteTimeouts;
  readonly #processes = new Set<GitProcess>();
  #closed = false;

  constructor(options: RemoteOptions) {
    this.ref = options.ref;
    this.trackingRef = options.trackingRef;
    this.#options = options;
    this.#timeouts = { ...TIMEOUTS, ...options.timeouts };
  }

  /** Address for logs and messages. */
  get url(): string {
    return this.#options.address.url;
  }

  /** Tip of the branch at the remote; undefined if it does not exist. Throws RemoteError. */
  tip(withinMs?: number): Promise<string | undefined> {
    return this.tipOf(this.ref, withinMs);
  }

  /** Like `tip`, for any ref by its full name. */
  protected async tipOf(ref: string, withinMs?: number): Promise<string | undefined> {
    // A pattern alone makes the server list every ref, and those of pull requests may be 100,000.
    const ofHeads = ref.startsWith(HEADS) ? ['--heads'] : [];
    const args = ['ls-remote', '--quiet', ...ofHeads, NAME, ref];
    const timeoutMs = Math.min(this.#timeouts.queryMs, withinMs ?? Number.POSITIVE_INFINITY);
    let id: string | undefined;
    const onLine = (line: string): void => {
      if (id === undefined && line.endsWith(`\t${ref}`)) id = line.slice(0, -ref.length - 1);
    };
    await this.#run(args, { timeoutMs, onLine });
    return id !== undefined && isObjectId(id) ? id : undefined;
  }

  /** Short names of the first branches of the remote. Throws RemoteError. */
  async branches(): Promise<string[]> {
    const args = ['ls-remote', '--quiet', '--heads', NAME];
    const names: string[] = [];
    const onLine = (line: string): void => {
      const at = line.indexOf(`\t${HEADS}`);
      if (at !== -1 && names.length < MAX_NAMES) names.push(line.slice(at + 1 + HEADS.length));
    };
    await this.#run(args, { timeoutMs: this.#timeouts.queryMs, onLine }).catch((error: unknown) => {
      if (names.length < MAX_NAMES) throw error;
    });
    return names;
  }

  /**
   * Fetches the branch to the tracking ref; its objects are durable. `counter` counts the objects that
   * arrive. Throws RemoteError.
   */
  async fetch(isFirst: boolean, counter?: Counter): Promise<void> {
    const { gitDir, maxFetchBytes = MAX_PUSH_BYTES } = this.#options;
    // To find a forced update, git walks from the new tip with every message in memory.
    const alone = [...ALONE, '--no-show-forced-updates'];
    const said = counter === undefined ? '--quiet' : '--progress';
    const args = ['fetch', said, ...alone, '--no-recurse-submodules', NAME];
    const timeoutMs = isFirst ? this.#timeouts.firstFetchMs : this.#timeouts.fetchMs;
    const config = [
      [`remote.${NAME}.fetch`, `+${this.ref}:${this.trackingRef}`] as const,
      ...ALIVE,
    ];
    // The first fetch transfers the whole history, which may be of any size.
    const fileBytes = isFirst ? undefined : maxFetchBytes;
    try {
      await this.#run(args, { timeoutMs, config, counter, fileBytes });
    } catch (error) {
      await removeTemporaryPacks(gitDir);
      throw error;
    }
  }

  /**
   * Fetches one commit without a ref, into the object directory that `env` names. Throws RemoteError.
   */
  async fetchCommit(
    commit: string,
    options: Required<Pick<RunOptions, 'env' | 'signal'>>,
  ): Promise<void> {
    const args = ['fetch', '--quiet', ...ALONE, '--no-recurse-submodules', NAME, commit];
    const timeoutMs = this.#timeouts.commitMs;
    await this.#run(args, { timeoutMs, config: ALIVE, ...options });
  }

  /**
   * Moves the branch of the remote from `expected` to `tip`, or not at all. Throws RemoteError only if
   * nothing was sent; after `unknown` it may have been sent.
   */
  async push({ tip, expected, ...options }: RemotePush): Promise<RemotePushResult> {
    const { results } = await this.move([{ ref: this.ref, expected, to: tip }], options);
    return results[0] ?? UNKNOWN;
  }

  /** Like `push`, for several refs; `atomic`: all or none. */
  protected async move(
    moves: readonly RefMove[],
    options: Pick<RemotePush, 'objects' | 'signal'> & { readonly atomic?: boolean },
  ): Promise<MovedRefs> {
    const args = ['push', '--porcelain', '--no-verify', '--no-signed'];
    if (options.atomic === true) args.push('--atomic');
    for (const { ref, expected } of moves) {
      args.push(`--force-with-lease=${ref}:${expected ?? ''}`);
    }
    args.push(NAME, ...moves.map(({ ref, to }) => `${to}:${ref}`));
    const env =
      options.objects === undefined ? {} : { GIT_ALTERNATE_OBJECT_DIRECTORIES: options.objects };
    const check = this.#options.assertMayAct;
    const { pushMs: timeoutMs } = this.#timeouts;
    const run = { timeoutMs, env, check, signal: options.signal };
    const { secrets, ...end } = await this.#end(args, run);
    // In an HTML page git may read an empty list of refs, in which each expected ref has moved.
    if (end.trace.isUnsent && end.trace.isWebPage) throw new RemoteError('web-page');
    const all = (result: RemotePushResult): MovedRefs => {
      return { results: moves.map(() => result), isAtomic: true };
    };
    const results = moves.map(({ ref }) => resultOf(readPushReport(end.stdout, ref), end, secrets));
    if (results[0]?.ended !== 'unknown') return { results, isAtomic: true };
    if (end.code === 0) return all({ ended: 'accepted' });
    if (options.atomic === true && NOT_ATOMIC.test(end.stderr))
      return { ...all(UNKNOWN), isAtomic: false };
    const error = this.#errorOf(end, timeoutMs, secrets);
    if (end.mayHaveRun === true) return all(UNKNOWN);
    if (end.failure !== undefined) throw processError(args, end, '');
    if (end.trace.isUnsent && error.problem !== 'refused') throw error;
    if (end.trace.isResent && !end.trace.isUnsent) return all(UNKNOWN);
    if (error.problem === 'refused') return all({ ended: 'refused', error });
    if (REPORTED_BEFORE_DATA.has(error.problem)) throw error;
    return all(UNKNOWN);
  }

  /** Aborts running operations; their callers get an error. */
  close(): void {
    this.#closed = true;
    for (const git of this.#processes) git.kill();
  }

  async #run(args: readonly string[], options: RunOptions): Promise<Finished> {
    const { secrets, ...end } = await this.#end(args, options);
    // In an HTML page git may read an empty list of refs.
    if (end.code === 0 && !end.trace.isWebPage) return end;
    if (end.failure !== undefined) throw processError(args, end, '');
    const error = this.#errorOf(end, options.timeoutMs, secrets);
    if (error.problem !== 'refused') throw error;
    // A client without read access was not authenticated.
    throw new RemoteError('credentials', error.detail);
  }

  #errorOf(end: Finished, timeoutMs: number, secrets: readonly string[]): RemoteError {
    const { stderr, timedOut, limit, aborted, trace } = end;
    if (this.#closed) return new RemoteError('unreachable', STOPPING);
    if (aborted) return new RemoteError('unreachable', HANGS);
    if (timedOut) {
      const seconds = (timeoutMs / 1000).toFixed(1).replace('.0', '');
      return new RemoteError('unreachable', `no answer within ${seconds} s`);
    }
    if (limit?.limit === 'output') return new RemoteError('limit', TOO_MANY_REFS);
    if (limit !== undefined) return new RemoteError('limit', limit.message);
    if (trace.isWebPage) return new RemoteError('web-page');
    const { redirect } = trace;
    if (redirect !== undefined) return new RemoteError('redirected', sanitize(redirect, secrets));
    return new RemoteError(problemOf(stderr), sanitize(stderr, secrets));
  }

  async #end(
    args: readonly string[],
    options: RunOptions,
  ): Promise<Finished & { secrets: readonly string[] }> {
    const { address, access, gitDir } = this.#options;
    const settings = await remoteSettings(address, access);
    const config = [
      [`remote.${NAME}.url`, address.url] as const,
      ...settings.config,
      ...(options.config ?? []),
    ];
    const env = { ...settings.env, ...options.env, ...TRACE_ENVIRONMENT };
    if (this.#closed || options.signal?.aborted) throw new RemoteError('unreachable', STOPPING);
    options.check?.();
    const end = await this.#wait({ gitDir, env, config }, args, options);
    return { ...end, secrets: settings.secrets };
  }

  async #wait(
    context: GitContext,
    args: readonly string[],
    options: RunOptions,
  ): Promise<Finished> {
    const { timeoutMs: deadlineMs, fileBytes = 0 } = options;
    const limits = { deadlineMs, outputBytes: MAX_OUTPUT, fileBytes };
    const trace = new ExchangeTrace();
    const git = new GitProcess(context, args, limits, (connection) =>
      connection.on('data', (chunk: Buffer) => trace.write(chunk)),
    );
    const kill = (): void => git.kill();
    options.signal?.addEventListener('abort', kill);
    this.#processes.add(git);
    git.stdin.end();
    const { counter } = options;
    if (counter !== undefined) git.onMessage((text) => countReceived(counter, text));
    const output = new Output(options.onLine);
    git.stdout.on('data', (chunk: Buffer) => {
      if (git.met === undefined) output.take(chunk);
    });
    const end = await git.ended;
    this.#processes.delete(git);
    options.signal?.removeEventListener('abort', kill);
    const limit = git.limitOf(end);
    const timedOut = limit === 'time';
    const aborted = options.signal?.aborted === true;
    const stderr = counter === undefined ? git.stderr : withoutProgress(git.stderr);
    return {
      ...end,
      stdout: output.rest,
      stderr,
      timedOut,
      limit: limit === undefined || timedOut ? undefined : git.errorFor(limit),
      aborted,
      trace,
    };
  }
}

export function readPushReport(stdout: string, ref: string): PushReport {
  for (const line of stdout.split('\n')) {
    const [, flag, to, summary = ''] = LINE.exec(line) ?? [];
    if (flag === undefined || to !== ref) continue;
    return flag === '!' ? rejection(summary) : { ended: 'accepted' };
  }
  return { ended: 'unknown' };
}

function rejection(summary: string): PushReport {
  const reason = REASON.exec(summary)?.[1] ?? '';
  if (summary.startsWith('[remote failure]')) return { ended: 'unknown' };
  if (LOST_RACE.test(reason)) return { ended: 'moved' };
  return { ended: 'refused', reason };
}

/** Output of git as text. Lines with a listener are not kept. */
class Output {
  readonly #onLine: ((line: string) => void) | undefined;
  readonly #decoder = new StringDecoder('utf8');
  rest = '';

  constructor(onLine: ((line: string) => void) | undefined) {
    this.#onLine = onLine;
  }

  take(chunk: Buffer): void {
    this.rest += this.#decoder.write(chunk);
    if (this.#onLine === undefined) return;
    const lines = this.rest.split('\n');
    this.rest = lines.pop() ?? '';
    for (const line of lines) this.#onLine(line);
  }
}

interface RunOptions {
  readonly timeoutMs: number;
  /** Takes each line of the output as it arrives. */
  readonly onLine?: (line: string) => void;
  readonly env?: Readonly<Record<string, string>>;
  readonly config?: readonly (readonly [string, string])[];
  readonly check?: (() => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly fileBytes?: number | undefined;
  /** Counts objects that arrive. */
  readonly counter?: Counter | undefined;
}

const TOO_MANY_REFS = `it lists more than ${MAX_OUTPUT / 2 ** 20} MiB of refs for the one of --branch. Remove those there, or check --repo`;
/** Message for a push that was aborted because the remote did not answer a query either. */
export const HANGS = 'neither a push nor a query is answered';
const STOPPING = 'gitplane is stopping';
/** A server reports these problems before it accepts data of a push. */
const REPORTED_BEFORE_DATA: ReadonlySet<string> = new Set([
  'credentials',
  'identity',
  'no-repository',
]);
const UNKNOWN = { ended: 'unknown' } as const;
/** Message of the local git, before it sends anything. */
const NOT_ATOMIC = /does(?: not|n't) support (?:--)?'?atomic/i;

function resultOf(
  result: PushReport,
  { stderr }: Finished,
  secrets: readonly string[],
): RemotePushResult {
  if (result.ended !== 'refused') return result;
  const message = sanitize(remoteLines(stderr) || result.reason, secrets);
  return { ended: 'refused', error: new RemoteError('refused', message) };
}

/** Lines of stderr that the remote wrote. */
function remoteLines(stderr: string): string {
  return stderr
    .split('\n')
    .filter((line) => line.startsWith('remote:'))
    .join('\n');
}
