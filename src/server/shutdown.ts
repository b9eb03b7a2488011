/**
 * How the server lets go of its clients: nothing new is taken, what is in flight is answered, and
 * nobody is waited for for long.
 */
import { setMaxListeners } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { closeSessions } from './http2.ts';

/** Connections that reach the port in this time are accepted, and their requests answered with 503. */
const LINGER_MS = 200;
/** A connection has so long to send its first request, handshake included. */
const FIRST_REQUEST_MS = 2000;
/** Leaves time for the rest of a stop, which is to end within ten seconds. */
const GRACE_MS = 5000;
const SWEEP_MS = 10;

/**
 * To be called once, before the server listens. The signal is aborted when the server begins to
 * close: streams that would go on for hours have to end then.
 */
export function closingSignal(app: FastifyInstance, graceMs = GRACE_MS): AbortSignal {
  const closing = new AbortController();
  setMaxListeners(0, closing.signal);
  const sockets = new Set<Socket>();
  /** Connections without a request so far, by their other end: under TLS a request has another socket. */
  const silent = new Map<string, number>();
  app.server.on('connection', (socket: Socket) => {
    const end = otherEnd(socket);
    sockets.add(socket);
    silent.set(end, performance.now());
    socket.once('close', () => {
      sockets.delete(socket);
      silent.delete(end);
    });
  });
  const sessions = new Set<ServerHttp2Session>();
  app.server.on('session', (session: ServerHttp2Session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
  });
  const heard = new WeakSet<Socket>();
  app.server.on('request', ({ socket }: IncomingMessage) => {
    if (heard.has(socket)) return;
    heard.add(socket);
    silent.delete(otherEnd(socket));
  });
  /** No later connection counts: a client that opens one after the other could keep the server open. */
  const isAwaited = (last: number): boolean =>
    [...silent.values()].some(
      (since) => since <= last && performance.now() - since < FIRST_REQUEST_MS,
    );
  app.addHook('preClose', async () => {
    closing.abort();
    // One that never listened has no connections, and is not told of its close.
    if (!app.server.listening) return;
    // Closed at once, connections that wait to be accepted or have sent nothing yet would be reset.
    await sleep(LINGER_MS);
    const last = performance.now();
    while (isAwaited(last)) await sleep(SWEEP_MS);
    closeSessions(sessions);
    // A connection becomes idle when its answer is out, and nothing else would close it then.
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

function otherEnd({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress}:${remotePort}`;
}
