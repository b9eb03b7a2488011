/** Proxy of a replica before its routes: reads are answered here, the rest goes to the leader. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { memoize, StatusError, unavailable } from '../../apimachinery/index.ts';
import type { KindTable } from '../../kinds/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { spareConnection } from '../connection-room.ts';
import { PendingWriteLimit, STRANGERS_LIMITS } from '../filters/overload-limits.ts';
import { parseRequest, type RequestInfo } from '../input/request-info.ts';
import { encodeStatus } from '../output/representation.ts';
import { type ForwardOptions, forward } from './forward.ts';
import { clientAddress } from './headers.ts';
import { isDeaf } from './leaders.ts';
import { isLocal, SAFE_METHODS, wantsNewest } from './local-requests.ts';

/** The state that reads use. */
export interface ProxyStore {
  readonly resourceVersion: number;
  readonly loaded: boolean;
  barrier(timeoutMs?: number): Promise<void>;
  /** False: the version was lost with its leader. Undefined: it may be lost. */
  reached(version: number, timeoutMs?: number): Promise<boolean | undefined>;
}

export interface LeaderProxyOptions
  extends Pick<ForwardOptions, 'leaders' | 'route' | 'timeoutMs' | 'answerMs'> {
  readonly store: ProxyStore;
  readonly kinds: KindTable;
  /** API groups of objects that only the leader has. */
  readonly coreGroups: readonly string[];
  /** `/kubernetes/management`. */
  readonly root: string;
  /** True if a request has a valid key: requests without one share little room. Never rejects. */
  readonly isKnown: (headers: IncomingHttpHeaders) => boolean | Promise<boolean>;
  readonly logger: Logger;
}

/** One request, and the ways to answer it. */
export interface Arrival {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly closing: AbortSignal;
  /** True if an ingress sets the address of the client. */
  readonly isBehindProxy: boolean;
  /** Answers the request in this process. */
  readonly answer: () => void;
  /** Refuses the request in this process, with an audit record. */
  readonly refuse: (error: StatusError) => void;
}

const MOST_URLS = 1024;
const SHOWN_WITHIN_MS = 30_000;
const TURN_MS = 1000;
const RETRY_SECONDS = 1;

export class LeaderProxy {
  readonly #options: LeaderProxyOptions;
  readonly #pressure = new PendingWriteLimit();
  readonly #strangers = new PendingWriteLimit(STRANGERS_LIMITS);
  readonly #read: (line: string) => RequestInfo | undefined;

  constructor(options: LeaderProxyOptions) {
    this.#options = options;
    const { root } = options;
    this.#read = memoize(MOST_URLS, (line) => {
      const space = line.indexOf(' ');
      return parseRequest({ method: line.slice(0, space), url: line.slice(space + 1), root });
    });
  }

  handle(arrival: Arrival): void {
    const { request, response } = arrival;
    const { method = '', url = '' } = request;
    const info = this.#read(`${method} ${url}`);
    this.#handle(arrival, info).catch((error: unknown) => {
      // The client is gone: no answer and no log line.
      if (response.destroyed) return;
      const isRecorded = info?.isResource === true && !response.headersSent;
      if (isRecorded && error instanceof StatusError) {
        // Closes the connection, so that the unread body is not read as the next request.
        if (!request.complete) response.setHeader('connection', 'close');
        arrival.refuse(error);
        return;
      }
      if (!(error instanceof StatusError)) {
        this.#options.logger.error({ err: error }, 'Request failed');
      }
      refuse(request, response, error);
    });
  }

  async #handle(arrival: Arrival, info: RequestInfo | undefined): Promise<void> {
    const { method = '' } = arrival.request;
    if (!isLocal(method, info, this.#options)) return await this.#forward(arrival, info);
    if (info.isResource) {
      const { store } = this.#options;
      if (!store.loaded) throw unavailable('This replica is not up to date yet', RETRY_SECONDS);
      if (wantsNewest(info, store.resourceVersion)) await this.#newest();
    }
    arrival.answer();
  }

  async #newest(): Promise<void> {
    await this.#options.store.barrier().catch((error: unknown) => {
      if (error instanceof StatusError) throw error;
      const way = 'resourceVersion=0 reads what it has';
      throw unavailable(
        `This replica does not know the newest state at the moment; ${way}`,
        RETRY_SECONDS,
      );
    });
  }

  async #forward(arrival: Arrival, info: RequestInfo | undefined): Promise<void> {
    const { request, response, isBehindProxy } = arrival;
    // Writes of objects are commits, which name their key.
    const isRepeatable = info?.isResource === true || SAFE_METHODS.includes(request.method ?? '');
    const isKnown = await this.#options.isKnown(request.headers);
    if (response.destroyed) return;
    if (isKnown) spareConnection(request);
    const count = (isKnown ? this.#pressure : this.#strangers).admit(request, response);
    const address = clientAddress(request, isBehindProxy);
    const { leaders, route, timeoutMs, answerMs } = this.#options;
    const shown: ForwardOptions['shown'] = (version, term) => this.#shown(version, term);
    const limit = {
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(answerMs === undefined ? {} : { answerMs }),
    };
    await forward(
      { leaders, route, shown, ...limit },
      { ...arrival, address, isRepeatable, count },
    );
  }

  /**
   * Resolves when this replica has the state of the leader up to a version. False: the leader died
   * before it persisted the version, and the next leader has read the rest from git.
   */
  async #shown(version: number, term: bigint): Promise<boolean> {
    const { store, leaders } = this.#options;
    const isShown = async (): Promise<boolean | undefined> =>
      store.resourceVersion >= version && (await store.reached(version));
    if (await isShown()) return true;
    const end = performance.now() + SHOWN_WITHIN_MS;
    while (performance.now() < end) {
      const reached = await store.reached(version, TURN_MS).catch(() => 'late' as const);
      if (reached === true) return true;
      // A write that etcd did not deliver is shown only after etcd answers again.
      if (isDeaf(leaders)) break;
      const isOver = reached !== 'late' || leaders.leader?.term !== term;
      if (isOver && leaders.leader?.ready === true) {
        await store.barrier(Math.max(end - performance.now(), 1));
        // A version is not lost as long as its leader still leads.
        return (await isShown()) ?? leaders.leader?.term === term;
      }
      if (isOver) await new Promise((resolve) => setTimeout(resolve, TURN_MS / 10));
    }
    const message = 'Timeout: the write was made, and cannot be read here yet';
    throw new StatusError(504, 'Timeout', message, {});
  }
}

function refuse(request: IncomingMessage, response: ServerResponse, error: unknown): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const status =
    error instanceof StatusError
      ? error
      : new StatusError(500, 'InternalError', 'Internal error occurred: see the log of the server');
  const { contentType, body } = encodeStatus(status.toStatus(), request.headers.accept);
  const retry = status.details?.retryAfterSeconds;
  response.writeHead(status.code, {
    'content-type': contentType,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-cache, private',
    ...(retry === undefined ? {} : { 'retry-after': String(retry) }),
    // Closes the connection, so that the unread body is not read as the next request.
    ...(request.complete ? {} : { connection: 'close' }),
  });
  response.end(body);
}
