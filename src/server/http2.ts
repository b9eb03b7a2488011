/**
 * HTTP/2 (RFC 9113) beside HTTP/1.1 on one TLS port, chosen by ALPN: a client with a hundred watches
 * needs one connection. The rest of the server sees requests and answers of both in the same form.
 */
import type { IncomingMessage, OutgoingHttpHeader, Server, ServerResponse } from 'node:http';
import {
  constants,
  createSecureServer,
  Http2ServerRequest,
  Http2ServerResponse,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { TLSSocket, TlsOptions } from 'node:tls';
import { StatusError } from '../apimachinery/index.ts';
import { Http1Request, SmallParts, tooManyParts } from './small-parts.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** Requests and watches at one time on a connection. Go opens another connection for more. */
const MOST_STREAMS = 250;
const MOST_HEADER_BYTES = 16 * 1024;
/** Bytes of a body that a client may send before the server has read them. */
const STREAM_WINDOW = 256 * 1024;
const CONNECTION_WINDOW = 1024 * 1024;
/** Memory of one connection in MiB, for headers and frames that wait. */
const MOST_SESSION_MIB = 32;
/** Idle time of a connection without a request, whatever else its client sends. */
const IDLE_MS = 75_000;
/** Time without a byte from the client until a PING, and for its answer: as in clients of Kubernetes. */
const SILENT_MS = 30_000;
/** Time limit for the client to close its side. */
const CLOSE_WITHIN_MS = 1000;
/**
 * Streams that a client, or a mistake of it, ended before their answer: each costs a start of the
 * work (CVE-2023-44487, CVE-2025-8671). A client that stops all its watches needs one for each.
 */
const MOST_RESETS = 2 * MOST_STREAMS;
const RESETS_WITHIN_MS = 10_000;

interface Limits {
  readonly idleMs?: number;
  readonly silentMs?: number;
}

export function createHttp2Server(tls: TlsOptions, handler: Handler, limits: Limits = {}): Server {
  let connecting: TLSSocket;
  const server = createSecureServer(
    {
      ...tls,
      allowHTTP1: true,
      settings: {
        maxConcurrentStreams: MOST_STREAMS,
        maxHeaderListSize: MOST_HEADER_BYTES,
        initialWindowSize: STREAM_WINDOW,
      },
      maxSessionMemory: MOST_SESSION_MIB,
      Http1IncomingMessage: Http1Request,
      Http2ServerRequest: Request,
      Http2ServerResponse: Response as typeof Http2ServerResponse,
    },
    // Both forms have what the server uses of them.
    unlessReset(handler) as unknown as (
      request: Http2ServerRequest,
      response: Http2ServerResponse,
    ) => void,
  )
    // The event of the session comes within that of its socket, and does not show it.
    .prependListener('secureConnection', (socket) => {
      connecting = socket;
    })
    .on('session', (session) => limitSession(session, connecting, limits)) as unknown as Server & {
    requireHostHeader: boolean;
  };
  // A server of HTTP/1.1 alone refuses a request without Host.
  server.requireHostHeader = true;
  return server;
}

/** A stream that its client takes back in the same read costs no work. */
function unlessReset(handler: Handler): Handler {
  return (request, response) => {
    const stream = streamOf(request);
    if (stream === undefined) handler(request, response);
    else setImmediate(() => stream.destroyed || handler(request, response));
  };
}

/** The connection of a request: HTTP/2 gives each request a socket object of its own. */
export function connectionOf(request: IncomingMessage): object {
  return streamOf(request)?.session ?? request.socket;
}

/** Ends a request whose body does not arrive, without an answer. */
export function cutOff(request: IncomingMessage): void {
  const stream = streamOf(request);
  if (stream === undefined) request.destroy();
  else stream.close(constants.NGHTTP2_CANCEL);
}

/**
 * Ends the answer to a request whose body was refused and is not read any more. The client has some time
 * to read the answer before the connection with its unread bytes is reset.
 */
export function endUnread(request: IncomingMessage, end: () => void): void {
  const stream = streamOf(request);
  if (stream === undefined) {
    setTimeout(end, CLOSE_WITHIN_MS).unref();
    return;
  }
  end();
  closeUnread(stream);
}

/** The same for an answer that has ended. */
export function closeRefused(request: IncomingMessage): void {
  const stream = streamOf(request);
  if (stream !== undefined) stream.destroy();
  else endUnread(request, () => request.socket.destroySoon());
}

/** The client may have its answer. */
function closeUnread(stream: ServerHttp2Stream): void {
  stream.close(stream.headersSent ? constants.NGHTTP2_NO_ERROR : constants.NGHTTP2_CANCEL);
  // Bytes that nobody reads would keep it open.
  stream.once('finish', () => stream.destroy());
}

function streamOf(request: IncomingMessage): ServerHttp2Stream | undefined {
  return request instanceof Request ? request.stream : undefined;
}

function limitSession(
  session: ServerHttp2Session,
  socket: TLSSocket,
  { idleMs = IDLE_MS, silentMs = SILENT_MS }: Limits,
): void {
  endWhenSilent(session, socket, silentMs);
  let open = 0;
  let begun = 0;
  let resets = 0;
  let countedSince = performance.now();
  const end = (): void => {
    session.close();
    setTimeout(() => socket.destroy(), CLOSE_WITHIN_MS).unref();
  };
  // A session that is destroyed while it reads keeps its socket open.
  const calm = (): void => {
    session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    setImmediate(() => socket.destroy());
  };
  let idle = setTimeout(end, idleMs).unref();
  session.setLocalWindowSize(CONNECTION_WINDOW);
  const count = (stream: ServerHttp2Stream): void => {
    open++;
    clearTimeout(idle);
    // No answer is sent in a read, so that only resets make room for so many.
    if (begun++ === 0) setImmediate(() => (begun = 0));
    if (begun === MOST_STREAMS + 1) calm();
    stream.once('close', () => {
      if (--open === 0 && !session.closed) idle = setTimeout(end, idleMs).unref();
      // A client that takes a stream back may name no error.
      if (stream.rstCode === constants.NGHTTP2_NO_ERROR && !stream.aborted) return;
      const now = performance.now();
      if (now - countedSince > RESETS_WITHIN_MS) [resets, countedSince] = [0, now];
      if (++resets === MOST_RESETS + 1) calm();
    });
  };
  session.on('stream', count);
  session.once('close', () => {
    clearTimeout(idle);
    // Node keeps a session whose client never acknowledged its settings, with all that it refers to.
    session.off('stream', count);
  });
}

/**
 * Node stops reading after an error of the connection and emits no event: with an open request nothing
 * else would close it, not even its client. Finds clients that are gone without a FIN, too.
 */
function endWhenSilent(session: ServerHttp2Session, socket: TLSSocket, silentMs: number): void {
  let read = 0;
  let isAsked = false;
  const look = setInterval(() => {
    // The last bytes may still be on their way.
    if (session.destroyed) return;
    const isSilent = socket.bytesRead === read;
    if (isSilent && isAsked) socket.destroy();
    else if (isSilent) session.ping(() => undefined);
    isAsked = isSilent;
    read = socket.bytesRead;
  }, silentMs).unref();
  socket.once('close', () => clearInterval(look));
}

/** With the headers that the same request has in HTTP/1.1. */
class Request extends Http2ServerRequest {
  readonly #parts = new SmallParts();

  constructor(...parts: ConstructorParameters<typeof Http2ServerRequest>) {
    super(...parts);
    const [stream, given, , raw] = parts;
    const headers: IncomingHttpHeaders = {};
    for (const name of Object.keys(given)) if (name[0] !== ':') headers[name] = given[name];
    // The authority counts where both are there (RFC 9113, section 8.3.1).
    if (given[':authority'] !== undefined) headers.host = given[':authority'];
    // A body of a length that nobody announced.
    const isOpen = !stream.endAfterHeaders;
    if (isOpen && headers['content-length'] === undefined) headers['transfer-encoding'] = 'chunked';
    Object.defineProperty(this, 'headers', { value: headers });
    const first = raw.findIndex((text, at) => at % 2 === 0 && text[0] !== ':');
    Object.defineProperty(this, 'rawHeaders', { value: first < 0 ? [] : raw.slice(first) });
  }

  override push(part: Buffer | null): boolean {
    return this.#parts.take(part, this.stream.session ?? this.stream, (merged) =>
      super.push(merged),
    );
  }

  override _read(size: number): void {
    if (this.#parts.areTooMany) this.destroy(tooManyParts());
    else super._read(size);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    const isRead = this.listenerCount('error') > 0;
    if (error instanceof StatusError && !isRead) {
      closeUnread(this.stream);
      done();
    } else done(error);
  }
}

type Headers = Record<string, OutgoingHttpHeader | undefined> | readonly OutgoingHttpHeader[];

/** Translates connection headers of HTTP/1.1. */
class Response extends Http2ServerResponse {
  override setHeader(name: string, value: number | string | readonly string[]): void {
    if (!this.#isOfConnection(name, value)) super.setHeader(name, value);
  }

  override writeHead(code: number, message?: string | Headers, more?: Headers): this {
    const given = (typeof message === 'object' ? message : more) ?? {};
    const headers: Record<string, number | string | string[]> = {};
    const flat = Array.isArray(given) ? given : Object.entries(given).flat();
    for (let at = 0; at < flat.length; at += 2) {
      const name = String(flat[at]);
      const value = flat[at + 1];
      if (value === undefined || this.#isOfConnection(name, value)) continue;
      const before = headers[name];
      headers[name] = before === undefined ? value : [before, value].flat().map(String);
    }
    return super.writeHead(code, headers);
  }

  /** `Connection: close` is GOAWAY here; the others have no meaning (RFC 9113, section 8.2.2). */
  #isOfConnection(name: string, value: unknown): boolean {
    const lower = name.toLowerCase();
    if (lower === 'connection' && value === 'close') this.stream.session?.close();
    return lower === 'connection' || lower === 'keep-alive' || lower === 'transfer-encoding';
  }
}

// Properties of HTTP/1.1 that the class of Node lacks, though its declaration has them.
for (const name of ['destroyed', 'writableNeedDrain'] as const) {
  Object.defineProperty(Response.prototype, name, {
    get(this: Response) {
      return this.stream[name];
    },
  });
}
