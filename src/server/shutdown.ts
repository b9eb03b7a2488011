/**
 * How the server lets go of its clients: nothing new is taken, what is in flight is answered, and
 * nobody is waited for for long.
 */
import { setMaxListeners } from 'node:events';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

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
  app.server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  app.addHook('preClose', async () => {
    closing.abort();
    // One that never listened has no connections, and is not told of its close.
    if (!app.server.listening) return;
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
