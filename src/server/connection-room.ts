/**
 * Room for new connections at the limit (decision 175): each ends the oldest one that has brought no valid
 * key, of the network with the most of them. A client without a key cannot keep others out that way.
 */
import type { IncomingMessage, Server } from 'node:http';
import type { ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { networkOf } from '../auth/index.ts';
import { connectionOf } from './http2.ts';

/** Functions that make a connection one with a valid key. */
const strangers = new WeakMap<object, () => void>();

/** Call for a request with a valid key: its connection ends for no other one from now on. */
export function spareConnection(request: IncomingMessage): void {
  const connection = connectionOf(request);
  const spare = strangers.get(connection);
  if (spare === undefined) return;
  strangers.delete(connection);
  spare();
}

/** Call once for each server, before it listens. Those of a process share its open files, and so the room. */
export function makeRoom(server: Server): void {
  /** By remote address and port: a TLS request has another socket object. */
  const sockets = new Map<string, Socket>();
  server.on('connection', (socket: Socket) => {
    const end = otherEnd(socket);
    open += 1;
    sockets.set(end, socket);
    waiting.add(socket);
    strangers.set(socket, () => waiting.delete(socket));
    socket.once('close', () => {
      open -= 1;
      if (sockets.get(end) === socket) sockets.delete(end);
      waiting.delete(socket);
    });
    if (open >= server.maxConnections) waiting.takeOldest()?.destroy();
  });
  const bind = (connection: object, end: string): void => {
    const socket = sockets.get(end);
    if (socket === undefined) return;
    strangers.set(connection, () => waiting.delete(socket));
    // Node keeps a session whose client never acknowledged its settings.
    socket.once('close', () => strangers.delete(connection));
  };
  server.on('secureConnection', (socket: Socket) => bind(socket, otherEnd(socket)));
  server.on('session', (session: ServerHttp2Session) => bind(session, otherEnd(session.socket)));
}

/** Remote address and port of a connection. */
export function otherEnd({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress}:${remotePort}`;
}

/** Connections of one network, oldest first. */
type Network = Set<Socket>;

class Strangers {
  readonly #networks = new Map<string, Network>();
  readonly #names = new Map<Socket, string>();
  /** Networks by their number of connections. */
  readonly #bySize: Set<Network>[] = [new Set()];

  add(socket: Socket): void {
    const name = networkOf(socket.remoteAddress);
    const network = this.#networks.get(name) ?? new Set();
    this.#networks.set(name, network);
    this.#names.set(socket, name);
    this.#resize(network, () => network.add(socket));
  }

  delete(socket: Socket): void {
    const name = this.#names.get(socket);
    const network = name === undefined ? undefined : this.#networks.get(name);
    if (name === undefined || network === undefined) return;
    this.#names.delete(socket);
    this.#resize(network, () => network.delete(socket));
    if (network.size === 0) this.#networks.delete(name);
  }

  /** The oldest connection of the largest network, which it leaves. */
  takeOldest(): Socket | undefined {
    const [largest] = this.#bySize.at(-1) ?? [];
    const [oldest] = largest ?? [];
    if (oldest !== undefined) this.delete(oldest);
    return oldest;
  }

  #resize(network: Network, change: () => void): void {
    this.#bySize[network.size]?.delete(network);
    change();
    if (network.size === this.#bySize.length) this.#bySize.push(new Set());
    if (network.size > 0) this.#bySize[network.size]?.add(network);
    if (this.#bySize.length > 1 && this.#bySize.at(-1)?.size === 0) this.#bySize.pop();
  }
}

/** Connections of all servers without a valid key, and the number of all. */
const waiting = new Strangers();
let open = 0;
