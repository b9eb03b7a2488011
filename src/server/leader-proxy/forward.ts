/**
 * Forwards a request to the leader, and its answer to the client. Bodies of writes are buffered, so that
 * a write can be sent again when the leader changes: its idempotency key tells the next leader whether
 * it is done. Other bodies, which may be large, are streamed.
 */
import { randomUUID } from 'node:crypto';
import {
  type Agent,
  type ClientRequest,
  type IncomingMessage,
  request as plainRequest,
  type ServerResponse,
} from 'node:http';
import { request as tlsRequest } from 'node:https';
import { finished, pipeline } from 'node:stream/promises';
import { unavailable } from '../../apimachinery/index.ts';
import { limitBody } from '../filters/hardening.ts';
import type { BodyCounter } from '../filters/overload-limits.ts';
import { GIT_PATH } from '../paths.ts';
import { bufferedBody } from './buffered-body.ts';
import {
  answerHeaders,
  CLIENT_HEADER,
  NOT_LEADER_HEADER,
  requestHeaders,
  VERSION_HEADER,
} from './headers.ts';
import { type Failed, isDeaf, type LeaderPeer, type Leaders, nextLeader } from './leaders.ts';

/** Connection to a leader. */
export interface Route {
  readonly host: string;
  readonly port: number;
  readonly agent: Agent;
  /** Absent: plain HTTP. */
  readonly tls: boolean;
}

export interface ForwardOptions {
  readonly leaders: Leaders;
  readonly route: (leader: LeaderPeer) => Route;
  /**
   * Resolves when this replica has the state of the leader of that term up to a version. False: the
   * version was lost with the leader.
   */
  readonly shown: (version: number, term: bigint) => Promise<boolean>;
  /** Time limit for a change of the leader. */
  readonly timeoutMs?: number;
  /** Time limit for the beginning of the answer, in milliseconds. */
  readonly answerMs?: number;
}

export interface Forwarded {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly address: string;
  /** True if it may be sent again: the next leader knows its outcome. */
  readonly isRepeatable: boolean;
  /** Counts bytes of a body without Content-Length. */
  readonly count: BodyCounter;
  /** Aborted when the server begins to close. */
  readonly closing: AbortSignal;
}

const TIMEOUT_MS = 10_000;
const ANSWER_MS = 30_000;
const CONNECT_MS = 3_000;
/** True while the leader is reached. */
const LOOK_EVERY_MS = 250;
/** Of an answer that has begun, and does not end by itself. */
const SILENT_MS = 60_000;
const RETRY_SECONDS = 1;
const WRITES = ['POST', 'PUT', 'PATCH', 'DELETE'];

/** Request to the leader. It is sent again after a failure. */
interface Outgoing {
  readonly headers: Record<string, string>;
  /** Undefined: it goes through as it comes, once. */
  readonly body: Buffer | undefined;
}

/** True if this replica has the state of a leader up to a version. */
type Shown = (version: number) => Promise<boolean>;

/** Throws StatusError while nothing has been answered yet. */
export async function forward(options: ForwardOptions, of: Forwarded): Promise<void> {
  const { leaders, timeoutMs = TIMEOUT_MS, answerMs = ANSWER_MS } = options;
  const { request } = of;
  const outgoing = await prepare(of);
  const gone = new AbortController();
  of.response.once('close', () => gone.abort());
  const end = performance.now() + timeoutMs;
  let failed: Failed | undefined;
  for (;;) {
    const leader = await nextLeader(leaders, failed, end - performance.now());
    if (gone.signal.aborted) return;
    if (leader === undefined) throw nobodyLeads(leaders, failed?.leader);
    const route = options.route(leader);
    const answer = await whileItLeads(leaders, leader, (changed) => {
      const signal = AbortSignal.any([gone.signal, changed]);
      return ask(route, of, { ...outgoing, signal, answerMs, leaders });
    });
    const reason = whyNot(answer);
    // A streamed body cannot be sent again.
    const isAgain = outgoing.body !== undefined && (of.isRepeatable || reason === 'refused');
    const shown: Shown = (version) => options.shown(version, leader.term);
    const final = await finalAnswer(shown, { answer, reason, isAgain });
    if (final !== undefined) return await pass(of, final, { shown, leaders, leader });
    if (gone.signal.aborted) return;
    if (!isAgain) throw request.errored ?? nobodyLeads(leaders, leader);
    const times = failed?.leader.term === leader.term ? failed.times + 1 : 1;
    failed = { leader, times };
  }
}

/** Stops waiting for a silent leader (paused or partitioned) once another replica leads. */
async function whileItLeads<T>(
  leaders: Leaders,
  asked: LeaderPeer,
  work: (changed: AbortSignal) => Promise<T>,
): Promise<T> {
  const changed = new AbortController();
  const look = (found: LeaderPeer | undefined): void => {
    if (found !== undefined && found.term !== asked.term) changed.abort();
  };
  const stop = leaders.onLeader(look);
  look(leaders.leader);
  try {
    return await work(changed.signal);
  } finally {
    stop();
  }
}

function nobodyLeads(leaders: Leaders, asked: LeaderPeer | undefined): Error {
  const why = isDeaf(leaders) ? 'This replica does not reach etcd' : 'No replica leads';
  const outcome =
    asked === undefined
      ? `${why} at the moment, please try again`
      : 'The replica that leads did not answer, please try again; a write may still take effect';
  return unavailable(outcome, RETRY_SECONDS);
}

/** State of a request without an answer. */
type Failure = 'refused' | 'unknown';

function whyNot(answer: IncomingMessage | Failure): Failure | undefined {
  if (typeof answer === 'string') return answer;
  const { statusCode, headers } = answer;
  const said = headers[NOT_LEADER_HEADER];
  if (statusCode !== 503 || said === undefined) return undefined;
  return said === 'refused' ? 'refused' : 'unknown';
}

/** Without a connection the leader cannot have done anything. */
const NOT_REACHED = [
  'ENOTCONN',
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
];

async function prepare({ request, address, count }: Forwarded): Promise<Outgoing> {
  const { method = '', headers, url = '' } = request;
  const isWrite = WRITES.includes(method);
  const more: Record<string, string> = { [CLIENT_HEADER]: address };
  const isGit = url.startsWith(GIT_PATH);
  if (isGit && isWrite) return { headers: more, body: undefined };
  limitBody(request);
  if (isWrite) more['idempotency-key'] = String(headers['idempotency-key'] || randomUUID());
  const hasBody =
    headers['transfer-encoding'] !== undefined || headers['content-length'] !== undefined;
  if (!hasBody) return { headers: more, body: Buffer.alloc(0) };
  const body = await bufferedBody(request, count);
  return { headers: { ...more, 'content-length': String(body.length) }, body };
}

interface Limits {
  readonly signal: AbortSignal;
  readonly answerMs: number;
  readonly leaders: Pick<Leaders, 'isReached'>;
}

/** Reason why the leader was not reached or did not begin to answer. */
async function ask(
  route: Route,
  { request, response }: Forwarded,
  { headers, body, ...limits }: Outgoing & Limits,
): Promise<IncomingMessage | Failure> {
  const { host, port, agent, tls } = route;
  const { method, url: path } = request;
  const send = tls ? tlsRequest : plainRequest;
  const passed = requestHeaders(request.headers, headers);
  const upstream: ClientRequest = send({
    host,
    port,
    agent,
    method,
    path,
    headers: passed,
    signal: limits.signal,
  });
  const answered = new Promise<IncomingMessage | Failure>((resolve) => {
    upstream.once('response', resolve);
    upstream.once('error', ({ code = '' }: NodeJS.ErrnoException) => {
      resolve(NOT_REACHED.includes(code) ? 'refused' : 'unknown');
    });
    upstream.once('close', () => resolve('unknown'));
  });
  upstream.on('error', () => undefined);
  upstream.on('information', () => undefined);
  const disarm = limitSilence(upstream, body === undefined ? request : upstream, limits);
  limitConnecting(upstream);
  if (body !== undefined) upstream.end(body);
  else pipeline(request, upstream).catch(() => undefined);
  const answer = await answered.finally(disarm);
  response.once('close', () => upstream.destroy());
  return answer;
}

/**
 * Ends a request after a time without body bytes and without the beginning of its answer, or when the
 * leader is unreachable. Returns a function that stops the timer.
 */
function limitSilence(
  upstream: ClientRequest,
  body: NodeJS.EventEmitter,
  { answerMs, leaders }: Omit<Limits, 'signal'>,
): () => void {
  const late = (): void => void upstream.destroy(new Error('The leader did not answer in time'));
  const timer = setTimeout(late, answerMs);
  const more = (): void => void timer.refresh();
  body.on('data', more);
  const look = setInterval(() => {
    if (!leaders.isReached) late();
  }, LOOK_EVERY_MS);
  return () => {
    clearTimeout(timer);
    clearInterval(look);
    body.off('data', more);
  };
}

/** A connection that does not come about: nothing was sent yet. */
function limitConnecting(upstream: ClientRequest): void {
  upstream.once('socket', (socket) => {
    if (!socket.connecting) return;
    const timer = setTimeout(() => {
      upstream.destroy(Object.assign(new Error('No connection in time'), { code: 'ENOTCONN' }));
    }, CONNECT_MS);
    const done = (): void => clearTimeout(timer);
    socket.once('encrypted' in socket ? 'secureConnect' : 'connect', done);
    socket.once('close', done);
  });
}

/**
 * Resolves with the answer when this replica has its effects. Undefined: they were lost with the
 * leader; the request can be sent again and then learns its outcome.
 */
async function finalAnswer(
  shown: Shown,
  of: { answer: IncomingMessage | Failure; reason: Failure | undefined; isAgain: boolean },
): Promise<IncomingMessage | undefined> {
  const { answer, reason, isAgain } = of;
  if (typeof answer === 'string') return undefined;
  // An error without a listener would end the process.
  answer.on('error', () => undefined);
  const isShown =
    reason === undefined && (await shownAt(answer.headers[VERSION_HEADER], shown, answer));
  // The leader may have died meanwhile, with the rest of its answer.
  const isWhole = !answer.destroyed;
  if (isWhole && (isShown || (reason === undefined && !isAgain))) return answer;
  answer.destroy();
  return undefined;
}

/** The leader of an answer. */
interface Passed {
  readonly shown: Shown;
  readonly leaders: Leaders;
  readonly leader: LeaderPeer;
}

/** Streams the answer to the client, and waits for the version in its trailers. */
async function pass(
  { request, response, closing }: Forwarded,
  answer: IncomingMessage,
  { shown, leaders, leader }: Passed,
): Promise<void> {
  const { statusCode = 502 } = answer;
  const headers = answerHeaders(answer.headers);
  if (closing.aborted) headers['connection'] = 'close';
  response.writeHead(statusCode, headers);
  response.flushHeaders();
  const end = (): void => {
    answer.unpipe(response);
    response.end();
    answer.destroy();
  };
  const disarm = isWatch(request)
    ? endWith({ closing, leaders, leader }, end)
    : cutWhenSilent(answer, response);
  answer.pipe(response, { end: false });
  try {
    await ended(answer);
    await shownAt(answer.trailers[VERSION_HEADER], shown, answer).catch(() => undefined);
    response.end();
  } catch {
    // A truncated answer must not look complete.
    if (!response.writableEnded) response.destroy();
  } finally {
    disarm();
  }
}

/**
 * Ends a watch cleanly with the server, or when another replica leads: the connection to a leader that is
 * paused or partitioned stays open, and brings nothing. Returns a function that stops it.
 */
function endWith(
  { closing, leaders, leader }: Pick<Forwarded, 'closing'> & Omit<Passed, 'shown'>,
  end: () => void,
): () => void {
  const look = (found: LeaderPeer | undefined): void => {
    if (found !== undefined && found.term !== leader.term) end();
  };
  const stop = leaders.onLeader(look);
  closing.addEventListener('abort', end);
  if (closing.aborted) end();
  else look(leaders.leader);
  return () => {
    stop();
    closing.removeEventListener('abort', end);
  };
}

/** Ends an answer that stalls although its client reads. Returns a function that stops the timer. */
function cutWhenSilent(answer: IncomingMessage, response: ServerResponse): () => void {
  const timer = setTimeout(() => {
    if (response.writableNeedDrain) timer.refresh();
    else answer.destroy();
  }, SILENT_MS);
  const more = (): void => void timer.refresh();
  answer.on('data', more);
  return () => {
    clearTimeout(timer);
    answer.off('data', more);
  };
}

function isWatch({ url = '' }: IncomingMessage): boolean {
  return /[?&]watch=|\/watch\//.test(url);
}

async function shownAt(
  version: string | string[] | undefined,
  shown: Shown,
  answer: IncomingMessage,
): Promise<boolean> {
  if (version === undefined || !/^\d{1,16}$/.test(String(version))) return true;
  try {
    return await shown(Number(version));
  } catch (error) {
    answer.destroy();
    throw error;
  }
}

/** Rejects when the answer is cut off, also if that happened before the call. */
async function ended(answer: IncomingMessage): Promise<void> {
  await finished(answer);
  if (!answer.complete) throw new Error('cut off');
}
