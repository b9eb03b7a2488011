/**
 * Watches over a WebSocket (RFC 6455), as in kube-apiserver: one text frame per event. The handshake
 * passes the same filters as every request.
 */
import { type IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createWebSocketStream, type WebSocket, WebSocketServer } from 'ws';
import { isSameOrigin } from '../sign-in/index.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

interface Upgrade {
  readonly socket: Socket;
  /** Bytes that the client sent after the request. */
  readonly head: Buffer;
}

const upgrades = new WeakMap<IncomingMessage, Upgrade>();

/** A watch ignores messages of the client. Ping and close frames are small. */
const MOST_BYTES = 4096;
/** Time limit for the close frame of the client. */
const CLOSE_WITHIN_MS = 1000;
/** Browsers cannot set headers of a WebSocket, so that Kubernetes takes the token as a subprotocol. */
const BEARER = 'base64url.bearer.authorization.k8s.io.';

const sockets = new WebSocketServer({
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  maxPayload: MOST_BYTES,
  handleProtocols: (protocols) => [...protocols].find((name) => !name.startsWith(BEARER)) ?? false,
});

/** Hands requests that ask for another protocol to the handler of all requests. */
export function acceptUpgrades(server: Server, ownOrigin: () => string, handler: Handler): void {
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    // Node stops reading this socket and reports its errors nowhere else.
    socket.on('error', () => socket.destroy());
    const response = new ServerResponse(request);
    try {
      response.assignSocket(socket);
    } catch {
      // An answer to a request before this one is not sent yet: clients wait for it.
      socket.destroy();
      return;
    }
    response.setHeader('connection', 'close');
    response.once('finish', () => socket.destroySoon());
    if (request.method !== 'GET') {
      response.writeHead(400, { 'content-type': 'text/plain; charset=utf-8' });
      response.end('An upgrade takes GET\n');
      return;
    }
    if (request.headers.upgrade?.toLowerCase() === 'websocket') {
      upgrades.set(request, { socket, head });
      takeToken(request);
      // A page of another origin can open a WebSocket with the cookies of the user and read it.
      if (isSameOrigin(request.headers, ownOrigin()) !== true) delete request.headers.cookie;
    } else {
      // Nothing else reads this socket, so that the end of its client would stay unknown.
      socket.once('end', () => socket.destroySoon());
      socket.resume();
    }
    handler(request, response);
  });
}

function takeToken({ headers }: IncomingMessage): void {
  const protocols = headers['sec-websocket-protocol']?.split(',') ?? [];
  const token = protocols.map((name) => name.trim()).find((name) => name.startsWith(BEARER));
  if (token === undefined || headers.authorization !== undefined) return;
  const text = Buffer.from(token.slice(BEARER.length), 'base64url').toString('utf8');
  headers.authorization = `Bearer ${text}`;
}

export function wantsWebSocket(request: IncomingMessage): boolean {
  return upgrades.has(request);
}

/**
 * Answers the handshake with 101. Each string written becomes a text frame. Undefined: the handshake
 * was invalid and is answered.
 */
export async function openWebSocket(
  request: IncomingMessage,
  response: ServerResponse,
  headers: readonly (readonly [string, string])[],
): Promise<Duplex | undefined> {
  const upgrade = upgrades.get(request);
  if (upgrade === undefined) throw new Error('The request asks for no WebSocket');
  const { socket, head } = upgrade;
  response.detachSocket(socket);
  // The client may have gone while the request waited.
  if (socket.closed) return undefined;
  return await new Promise<Duplex | undefined>((resolve) => {
    socket.once('close', () => resolve(undefined));
    // The event comes within the call.
    sockets.once('headers', (lines: string[]) => {
      lines.push(...headers.map(([name, value]) => `${name}: ${value}`));
    });
    // Within the call: frames behind the request may be invalid, and an error without a listener would
    // end the process.
    sockets.handleUpgrade(request, socket, head, (opened) => resolve(streamOf(opened)));
    sockets.removeAllListeners('headers');
  });
}

function streamOf(socket: WebSocket): Duplex {
  // The stream listens to the first error alone.
  socket.on('error', () => undefined);
  const stream = createWebSocketStream(socket, { decodeStrings: false });
  stream.on('error', () => stream.destroy());
  stream.resume();
  // A client that is gone ends what it sends alone.
  stream.once('end', () => stream.destroy());
  stream.once('finish', () => {
    setTimeout(() => socket.terminate(), CLOSE_WITHIN_MS).unref();
  });
  return stream;
}
