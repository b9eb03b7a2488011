/**
 * The smart HTTP protocol of git (gitprotocol-http) below any HTTP framework: streams in, streams out.
 * The HTTP server handles authentication, content types and limits of requests.
 */
import { once } from 'node:events';
import { type Duplex, PassThrough, Readable, type Writable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { GitContext } from '../process/git-environment.ts';
import { GitProcess, tryGit } from '../process/git-process.ts';
import { CLONE, limitMet, type ProcessLimits, PUSH } from '../process/process-limits.ts';
import { AtomicPush, messagePacket } from './atomic-push.ts';
import { ATOMIC_HOOKS, SERVED_HOOKS } from './hook.ts';
import { hasPushLists, PushAnswer, pktLine } from './pkt-line.ts';
import { type OfferedTips, offerTips } from './push-advertisement.ts';
import { answerHooks, type ServedHooks } from './served-hooks.ts';

export type GitService = 'git-upload-pack' | 'git-receive-pack';

export interface ServeOptions {
  /** `Git-Protocol` header of the client. */
  readonly gitProtocol?: string | undefined;
  /** Kills the service; an update of a ref is then complete or did not happen. */
  readonly signal?: AbortSignal;
  /** Of an advertisement for a push: the tips to offer in the place of the branch. */
  readonly offered?: OfferedTips | undefined;
  /** Of a fetch: asked before each part of its request reaches git; false ends the request. */
  readonly isAllowed?: () => boolean;
  /** Of a push: refs, or folders of refs, that the proc-receive hook lands in the place of git. */
  readonly procReceive?: readonly string[];
  /** Of a push: they judge and land it. Without them it is judged as a push by path. */
  readonly hooks?: ServedHooks | undefined;
}

export interface ServeResult {
  /** Null when the service was killed. */
  readonly code: number | null;
  readonly stderr: string;
}

/** Accepted values of `Git-Protocol`: `version=2` and the like. Others are ignored. */
const protocolHeader = /^[\w=:.-]{1,200}$/;

/**
 * Filters of partial clones. git compares each path with each line of the file of `sparse:oid`, and takes
 * hundreds of megabytes for a long `combine`.
 */
const FILTERS = [
  ['uploadpackfilter.allow', 'false'],
  ['uploadpackfilter.blob:none.allow', 'true'],
  ['uploadpackfilter.blob:limit.allow', 'true'],
  ['uploadpackfilter.object:type.allow', 'true'],
  ['uploadpackfilter.tree.allow', 'true'],
] as const;

/** True if a name from a URL is a service. The only check before `advertiseRefs` and `serveRpc`. */
export function isGitService(name: string): name is GitService {
  return name === 'git-upload-pack' || name === 'git-receive-pack';
}

/** Answers `GET /info/refs?service=…`. Resolves when the answer is written and `response` ended. */
export function advertiseRefs(
  repository: { readonly gitDir: string },
  request: { readonly service: GitService; readonly response: Writable },
  options: ServeOptions = {},
): Promise<ServeResult> {
  const { service, response } = request;
  // Version 2 has no such line: the service sends the first one (as in git http-backend).
  if (options.gitProtocol?.split(':').includes('version=2') !== true) {
    response.write(`${pktLine(`# service=${service}\n`)}0000`);
  }
  const args = [subcommand(service), '--stateless-rpc', '--advertise-refs', repository.gitDir];
  const context = contextOf(repository, options);
  if (options.offered !== undefined) return offer(context, { args, response }, options.offered);
  const git = new GitProcess(context, args, CLONE);
  return run(git, { response, signal: options.signal });
}

/** The refs of a push fit in memory: their number is limited. */
async function offer(
  context: GitContext,
  { args, response }: { readonly args: readonly string[]; readonly response: Writable },
  offered: OfferedTips,
): Promise<ServeResult> {
  const { code, stdout, stderr } = await tryGit(context, args).catch((error: Error) => {
    return { code: null, stdout: Buffer.alloc(0), stderr: error.message };
  });
  if (code === 0) response.write(offerTips(stdout, offered));
  await finish(response, code === 0);
  return { code, stderr };
}

/**
 * The body of a request, inflated if it is compressed. A service that ends early destroys this stream
 * alone: the rest of the request is dropped as it came, and its connection stays for the answer.
 */
export function serviceInput(request: Readable, encoding: string | undefined): Readable {
  const input = request.pipe(encoding === 'gzip' ? createGunzip() : new PassThrough());
  finished(request, { writable: false }).catch((error: Error) => input.destroy(error));
  // The reader gets errors of the stream. Without a reader yet, an error must not end the process.
  input.on('error', () => undefined);
  return input.once('close', () => request.resume());
}

/** Answers `POST /<service>`. Resolves when the answer is written and `response` ended. */
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
  if (service === 'git-receive-pack') return servePush({ repository, args }, exchange, options);
  const context = contextOf(repository, options);
  const git = new GitProcess(context, args, CLONE);
  let isExplained = false;
  const refuse = (message: string): void => {
    isExplained = true;
    response.write(pktLine(`ERR gitplane: ${message}\n`));
  };
  const { signal, isAllowed } = options;
  const parts = fetchRequest(request, { refuse, isAllowed });
  const input = Readable.from(parts, { objectMode: false });
  return run(git, { request: input, response, signal, isExplained: () => isExplained });
}

/** Several times the names of all refs that a repository may have, and of the commits that a client offers. */
const MAX_FETCH_REQUEST_BYTES = 8 * 1024 * 1024;

/** Passes on the request of a fetch, whose every line costs git time, up to its limit. */
async function* fetchRequest(
  request: Readable,
  of: { refuse(message: string): void; isAllowed: ServeOptions['isAllowed'] },
): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of bytesOf(request)) {
    bytes += chunk.length;
    if (bytes > MAX_FETCH_REQUEST_BYTES) {
      const limit = `${MAX_FETCH_REQUEST_BYTES / MIB} MiB`;
      of.refuse(`The request of a fetch is larger than ${limit}`);
      return;
    }
    if (of.isAllowed?.() === false) return;
    yield chunk;
  }
}

/** Bytes read before git starts. A smaller push gets limits in proportion to its size. */
const PEEKED_BYTES = 1024 * 1024;
/** The client can show messages that are not part of the report (gitprotocol-capabilities). */
const SHOWS_MESSAGES = 'side-band-64k';

const MIB = 1024 * 1024;
const PUSH_CPU_SECONDS = 2;
const PUSH_CPU_SECONDS_PER_MIB = 2;
/** Includes the time for the verdict: see the timeout of the hook. */
const PUSH_AFTER_INPUT_MS = 180_000;
const PUSH_AFTER_INPUT_MS_PER_MIB = 4000;

/** Limits for a push that arrived completely: CPU time in proportion to its size. */
function limitsOfPush(bytes: number): ProcessLimits {
  const cpuSeconds = PUSH_CPU_SECONDS + Math.ceil((bytes / MIB) * PUSH_CPU_SECONDS_PER_MIB);
  return { ...PUSH, cpuSeconds };
}

/** Time limit for git after all bytes of a push arrived. */
function unpackWithinMs(bytes: number): number {
  return PUSH_AFTER_INPUT_MS + (bytes / MIB) * PUSH_AFTER_INPUT_MS_PER_MIB;
}

async function servePush(
  {
    repository,
    args,
  }: { readonly repository: { readonly gitDir: string }; readonly args: readonly string[] },
  { request, response }: { readonly request: Readable; readonly response: Writable },
  options: ServeOptions,
): Promise<ServeResult> {
  const { signal, hooks, procReceive = [] } = options;
  const { head, isWhole, rest } = await peek(request, { max: PEEKED_BYTES, signal });
  // Each command and option costs git time, and a push may have no more than fit.
  if (!isWhole && !hasPushLists(head)) {
    await discard(rest);
    request.destroy();
    return refuseCommands(response, head);
  }
  const limits = isWhole ? limitsOfPush(head.length) : PUSH;
  const atomic = hooks && AtomicPush.of(head, procReceive);
  const context = contextOf(repository, options, atomic && ATOMIC_HOOKS);
  let answered: Promise<void> | undefined;
  const answering =
    hooks &&
    ((connection: Duplex) => {
      answered = answerHooks(connection, hooks, atomic);
    });
  const git = new GitProcess(context, args, limits, answering);
  const canShow = head.includes(SHOWS_MESSAGES);
  const ending = (tail: string): string =>
    `${atomic?.ending(tail) ?? ''}${limitMessage(git, tail)}`;
  const answer = new PushAnswer((tail) => (canShow ? ending(tail) : ''));
  const forwarded = pipeline(answer, response).catch(() => undefined);
  const input = Readable.from(wholeInput(head, rest, git), { objectMode: false });
  const isRefused = (): boolean => atomic?.landed?.ok === false;
  const isExplained = (): boolean => git.met !== undefined || (canShow && isRefused());
  const result = await run(git, { request: input, response: answer, signal, isExplained });
  await forwarded;
  // A push lands although its client is gone.
  await answered;
  return isRefused() ? { code: 0, stderr: '' } : result;
}

/** Reads on up to a limit: over HTTP/2, git waits without end if it is answered while it sends. */
async function discard(rest: AsyncIterator<Buffer>): Promise<void> {
  for (let left = 16 * PEEKED_BYTES; left > 0; ) {
    const { done, value } = await rest.next().catch(() => ENDED);
    if (done === true) return;
    left -= value.length;
  }
}

async function refuseCommands(response: Writable, head: Buffer): Promise<ServeResult> {
  const limit = `${PEEKED_BYTES / MIB} MiB`;
  const message = `gitplane: The lists of refs and options of this push are larger than ${limit}; push fewer refs`;
  const canShow = head.includes(SHOWS_MESSAGES);
  response.write(canShow ? `${pktLine(`\u0002${message}\n`)}0000` : pktLine(`ERR ${message}\n`));
  await finish(response, true);
  return { code: 1, stderr: message };
}

/** First bytes of a stream, `max` or slightly more, and an iterator for the rest. */
async function peek(
  stream: Readable,
  { max, signal }: { readonly max: number; readonly signal: AbortSignal | undefined },
): Promise<{ head: Buffer; isWhole: boolean; rest: AsyncIterator<Buffer> }> {
  const rest = bytesOf(stream);
  const aborted = signal && once(signal, 'abort').then(() => ENDED);
  const chunks: Buffer[] = [];
  for (let size = 0; size <= max; size += chunks.at(-1)?.length ?? 0) {
    const next = rest.next().catch(() => ENDED);
    const { done, value } = signal?.aborted ? ENDED : await Promise.race([next, aborted ?? next]);
    if (done === true) return { head: Buffer.concat(chunks), isWhole: true, rest: NOTHING };
    chunks.push(value);
  }
  return { head: Buffer.concat(chunks), isWhole: false, rest };
}

/** The end of an aborted request: git itself detects that it is incomplete. */
const ENDED: IteratorReturnResult<undefined> = { done: true, value: undefined };
const NOTHING: AsyncIterator<Buffer> = { next: () => Promise.resolve(ENDED) };

async function* bytesOf(stream: Readable): AsyncGenerator<Buffer, undefined> {
  for await (const chunk of stream) yield Buffer.from(chunk);
}

async function* wholeInput(
  head: Buffer,
  rest: AsyncIterator<Buffer>,
  git: GitProcess,
): AsyncGenerator<Buffer> {
  let bytes = head.length;
  if (bytes > 0) yield head;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) {
    bytes += next.value.length;
    yield next.value;
  }
  git.endWithin(unpackWithinMs(bytes));
}

const NOT_UNPACKED = /unpack (?!ok)|unpacker error/;

/** Message for a pusher whose push exceeded a limit; '' otherwise. */
function limitMessage(git: GitProcess, report: string): string {
  const isKilled = git.met !== undefined;
  if (!isKilled && !NOT_UNPACKED.test(report)) return '';
  const limit = git.met ?? limitMet(null, `${git.stderr}\n${report}`);
  return limit === undefined ? '' : messagePacket(`gitplane: ${git.errorFor(limit).message}`);
}

function subcommand(service: GitService): string {
  return service.slice('git-'.length);
}

function contextOf(
  repository: { readonly gitDir: string },
  options: ServeOptions,
  hooksPath: readonly [string, string] = SERVED_HOOKS,
): GitContext {
  const { gitProtocol, procReceive = [], hooks } = options;
  const safe = gitProtocol !== undefined && protocolHeader.test(gitProtocol);
  return {
    gitDir: repository.gitDir,
    env: safe ? { GIT_PROTOCOL: gitProtocol } : {},
    // Of this process alone: git itself moves the branch in a push by path.
    config: [
      ...FILTERS,
      ...procReceive.map((ref) => ['receive.procReceiveRefs', ref] as const),
      ...(hooks === undefined ? [] : [hooksPath]),
    ],
  };
}

interface Streams {
  readonly request?: Readable;
  readonly response: Writable;
  readonly signal: AbortSignal | undefined;
  /** True if the response itself reports why the service ended. */
  readonly isExplained?: () => boolean;
}

/**
 * Ends an answer. If the service was killed, the connection is cut off instead: after a regular end in
 * the middle of an answer, a client would wait for the rest forever.
 */
async function finish(response: Writable, isWhole: boolean): Promise<void> {
  if (!isWhole) {
    response.destroy();
    return;
  }
  response.end();
  await finished(response).catch(() => undefined);
}

async function run(
  git: GitProcess,
  { request, response, signal, isExplained = () => false }: Streams,
): Promise<ServeResult> {
  const stop = () => git.stop();
  if (signal?.aborted) stop();
  signal?.addEventListener('abort', stop, { once: true });
  // A service may end before it has read all input: that is not a failure.
  if (request === undefined) git.stdin.end();
  else void pipeline(request, git.stdin).catch(() => undefined);
  let hasAnswered = false;
  git.stdout.once('data', () => {
    hasAnswered = true;
  });
  try {
    await pipeline(git.stdout, response, { end: false });
  } catch {
    // The client disconnected, or the service could not be started.
    stop();
  }
  const end = await git.ended;
  const isWhole = end.code === 0 || (end.code !== null && hasAnswered);
  await finish(response, isWhole || isExplained());
  signal?.removeEventListener('abort', stop);
  const { code, failure } = end;
  if (code === 0) return { code, stderr: git.stderr };
  return {
    code,
    stderr: failure?.message ?? (git.limitOf(end) && git.error(end).message) ?? git.stderr,
  };
}
