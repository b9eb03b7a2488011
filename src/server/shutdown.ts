/**
 * Graceful shutdown: the server refuses new requests, answers those in flight, and closes the
 * remaining connections after a time limit.
 */
import { setMaxListeners } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import type { ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { otherEnd } from './connection-room.ts';

/** Time in which new connections are still accepted and their requests answered with 503. */
const LINGER_MS = 200;
/** Time limit for the first request of a connection, TLS handshake included. */
const FIRST_REQUEST_MS = 2000;
/** Leaves time for the rest of the stop, which has ten seconds in all. */
const GRACE_MS = 5000;
const SWEEP_MS = 10;

/** Connections of a server, from its first one on. */
export interface Connections {
  readonly sockets: ReadonlySet<Socket>;
  readonly sessions: ReadonlySet<ServerHttp2Session>;
  /** Connections without a request so far, with their times, by remote address and port: a TLS request
   * has another socket object. */
  readonly silent: ReadonlyMap<string, number>;
}

/** Call once, before the server listens. */
export function trackConnections(server: Server): Connections {
  const sockets = new Set<Socket>();
  const silent = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const end = otherEnd(socket);
    sockets.add(socket);
    silent.set(end, performance.now());
    socket.once('close', () => {
      sockets.delete(socket);
      silent.delete(end);
    });
  });
  const sessions = new Set<ServerHttp2Session>();
  server.on('session', (session: ServerHttp2Session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
  });
  const heard = new WeakSet<Socket>();
  server.on('request', ({ socket }: IncomingMessage) => {
    if (heard.has(socket)) return;
    heard.add(socket);
    silent.delete(otherEnd(socket));
  });
  return { sockets, sessions, silent };
}

/** The signal is aborted when the server begins to close, and ends streams such as watches. */
export function closingSignal(
  app: FastifyInstance,
  { sockets, sessions, silent }: Connections,
  graceMs = GRACE_MS,
): AbortSignal {
  const closing = new AbortController();
  setMaxListeners(0, closing.signal);
  /** Only connections from before the close count: new ones could delay it without end. */
  const isAwaited = (last: number): boolean =>
    [...silent.values()].some(
      (since) => since <= last && performance.now() - since < FIRST_REQUEST_MS,
    );
  app.addHook('preClose', async () => {
    closing.abort();
    // A server that never listened has no connections and emits no event.
    if (!app.server.listening) return;
    // An immediate close would reset connections that are not accepted yet or have sent nothing.
    await sleep(LINGER_MS);
    const last = performance.now();
    while (isAwaited(last)) await sleep(SWEEP_MS);
    closeSessions(sessions);
    // A connection becomes idle after its answer, and nothing else closes it then.
    const sweep = setInterval(() => app.server.closeIdleConnections(), SWEEP_MS);
    const cut = setTimeout(() => {
      for (const socket of sockets) socket.destroy();
    }, graceMs);
    app.server.once('close', () => {
      clearInterval(sweep);
      clearTimeout(cut);
    });
  });
  return closing.signal;
}

/** Closes HTTP/2 connections gracefully: open streams are answered, new ones refused. */
function closeSessions(sessions: Iterable<ServerHttp2Session>): void {
  for (const session of sessions) if (!session.closed && !session.destroyed) session.close();
}
