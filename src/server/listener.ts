/**
 * The TCP side of the server: it can listen before there is a platform to answer, since the handler of
 * its requests can be replaced while it listens.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { TlsOptions } from 'node:tls';
import { makeRoom } from './connection-room.ts';
import { limitConnections, tlsOptions } from './filters/hardening.ts';
import { createHttp2Server } from './http2.ts';
import { type Connections, trackConnections } from './shutdown.ts';
import { Http1Request } from './small-parts.ts';

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

export interface Listener {
  readonly server: Server;
  readonly connections: Connections;
  readonly isTls: boolean;
  /** Requests from now on go to this handler. */
  handle(handler: Handler): void;
}

export const KEEP_ALIVE_MS = 75_000;

/** `tls` absent: plain HTTP. `first` answers until `handle` is called. */
export function createListener(tls: TlsOptions | undefined, first: Handler): Listener {
  let current = first;
  const dispatch: Handler = (request, response) => {
    if (response.socket !== null || mayWait(request.socket, response)) current(request, response);
  };
  const server =
    tls === undefined
      ? createServer({ IncomingMessage: Http1Request }, dispatch)
      : createHttp2Server(tlsOptions(tls), dispatch);
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    tellToContinue(response);
    server.emit('request', request, response);
  });
  server.on('secureConnection', parseWhilePaused);
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  limitConnections(server);
  makeRoom(server);
  return {
    server,
    connections: trackConnections(server),
    isTls: tls !== undefined,
    handle: (handler) => {
      current = handler;
    },
  };
}

/**
 * Sends 100 once it is the turn of the answer, unless that is there by then. Node would write it between
 * the headers and the body of an answer that waits for another one on its connection.
 */
function tellToContinue(response: ServerResponse): void {
  if (response.socket !== null) response.writeContinue();
  else response.once('socket', () => response.headersSent || response.writeContinue());
}

/**
 * Keeps the parser of HTTP/1.1 over TLS going. Node pauses it with its connection while answers wait for
 * their client, yet TLS still passes on the records that it has read, at most 64 KiB: a paused parser takes
 * them for an error, which would end the connection. Without TLS nothing is passed on by then.
 */
function parseWhilePaused({ parser }: Socket & { parser?: { pause(): void } | null }): void {
  if (parser) parser.pause = () => undefined;
}

/**
 * Ends a connection whose bytes are no request while an answer to an earlier one is owed: a 400 would be
 * taken for that answer, or come in its middle. Call before another listener sends that 400.
 */
export function spareOwedAnswers(server: Server): void {
  server.prependListener('clientError', (error: Error, socket: Socket) => {
    const { _httpMessage: owed } = socket as { _httpMessage?: ServerResponse | null };
    if (!owed) return;
    const isOfItsBody = !owed.headersSent && !owed.req.complete;
    if (!isOfItsBody) socket.destroy(error);
  });
}

/** Answers that wait behind another one on a connection of HTTP/1.1: as many as HTTP/2 has at one time. */
const MOST_WAITING = 250;

const waiting = new WeakMap<Socket, Set<ServerResponse>>();

/**
 * Closes the answer to a request that waits for another one on its connection, when that ends. Node does so
 * for the answer whose turn it is alone: the others would keep their places in limits, and their watches.
 * False: too many wait, since Node begins each request that comes in one read, and the connection ends.
 */
function mayWait(socket: Socket, response: ServerResponse): boolean {
  let answers = waiting.get(socket);
  if (answers === undefined) {
    const all = new Set<ServerResponse>();
    answers = all;
    waiting.set(socket, all);
    socket.once('close', () => {
      for (const one of all) {
        one.destroyed = true;
        one.emit('close');
      }
    });
  }
  if (socket.destroyed || answers.size >= MOST_WAITING) {
    socket.destroy();
    return false;
  }
  answers.add(response);
  response.once('socket', () => answers.delete(response));
  return true;
}
