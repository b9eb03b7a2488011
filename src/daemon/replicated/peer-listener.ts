/**
 * Port for other replicas, with client certificates of the peer CA. It serves the repository, and passes
 * everything else to the leader's server.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { Duplex } from 'node:stream';
import { errnoOf, StartError } from '../../bootstrap/index.ts';
import { advertiseRefs, serveRpc, serviceInput } from '../../git/index.ts';
import type { Address } from '../../options/index.ts';
import { answerReadIndex, NEWEST_PROTOCOL, type PeerIdentity } from '../../replication/index.ts';
import { isHandedOn } from '../../server/index.ts';
import { portOf } from '../network/listener.ts';
import { ALIVE_PATH, ANSWERED_PATH } from './reachability.ts';

export interface PeerListenerOptions {
  readonly address: Address;
  readonly identity: PeerIdentity;
  readonly gitDir: string;
  /** Answers requests for the leader, also when this replica does not lead. */
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  /** Called for requests of a replica that gets answers from here. */
  readonly heard: () => void;
  /** Read index; undefined: this replica does not know it. See `Writer`. */
  readonly newest: () => Promise<bigint | undefined>;
}

export interface PeerListener {
  readonly port: number;
  close(): Promise<void>;
}

/** Path of the repository on the peer port. */
export const PEER_REPOSITORY = '/peer/platform.git';
const SERVICE = 'git-upload-pack';
const CLOSE_WITHIN_MS = 2_000;

/** Throws StartError. */
export async function listenForPeers(options: PeerListenerOptions): Promise<PeerListener> {
  const { address, identity, handle, gitDir } = options;
  const { ca, cert, key } = identity;
  const server = createServer(
    { ca, cert, key, requestCert: true, rejectUnauthorized: true, keepAliveTimeout: 75_000 },
    (request, response) => {
      if (request.url?.startsWith(ALIVE_PATH) === true && !isHandedOn(request)) {
        if (request.url === ANSWERED_PATH) options.heard();
        response.writeHead(204).end();
      } else if (request.url?.startsWith(`${PEER_REPOSITORY}/`) === true && !isHandedOn(request)) {
        serveRepository(gitDir, request, response).catch(() => response.destroy());
      } else handle(request, response);
    },
  );
  const lines = new Set<Duplex>();
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, first: Buffer) => {
    if (request.headers.upgrade !== NEWEST_PROTOCOL || isHandedOn(request)) {
      socket.destroy();
      return;
    }
    lines.add(socket);
    socket.once('close', () => lines.delete(socket));
    if (first.length > 0) socket.unshift(first);
    answerReadIndex(socket, options.newest);
  });
  // The peer that fails the handshake logs the error.
  server.on('tlsClientError', () => undefined);
  await listen(server, address);
  const port = portOf(server);
  const closeAll = async (): Promise<void> => {
    const closed = close(server);
    for (const line of lines) line.destroy();
    await closed;
  };
  return { port, close: closeAll };
}

async function serveRepository(
  gitDir: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'https://peer');
  const header = request.headers['git-protocol'];
  const gitProtocol = typeof header === 'string' ? header : undefined;
  const path = url.pathname.slice(PEER_REPOSITORY.length);
  response.setHeader('cache-control', 'no-cache');
  if (path === '/info/refs' && url.searchParams.get('service') === SERVICE) {
    response.setHeader('content-type', `application/x-${SERVICE}-advertisement`);
    await advertiseRefs({ gitDir }, { service: SERVICE, response }, { gitProtocol });
  } else if (path === `/${SERVICE}` && request.method === 'POST') {
    response.setHeader('content-type', `application/x-${SERVICE}-result`);
    const input = serviceInput(request, request.headers['content-encoding']);
    await serveRpc({ gitDir }, { service: SERVICE, request: input, response }, { gitProtocol });
  } else response.writeHead(404).end();
}

function listen(server: Server, { host, port }: Address): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const why = errnoOf(error) ?? String(error);
      const words = `Cannot listen for other replicas on ${host}:${port}: ${why}`;
      reject(new StartError(`${words}; choose another with --listen-peer`, { cause: error }));
    });
    server.listen({ host, port }, resolve);
  });
}

async function close(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), CLOSE_WITHIN_MS);
  await closed;
  clearTimeout(timer);
}
