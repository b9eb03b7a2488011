/**
 * A keep-alive connection that does as little as HTTP/1.1 allows, so that a measurement is of the
 * server and not of the client: ready bytes out, status and length of the answer back.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as connectTls, createSecureContext, type SecureContext } from 'node:tls';
import { ChunkedBody } from './chunked-body.ts';

/** A server on the loopback interface; over TLS where `ca` is given. */
export interface Endpoint {
  readonly port: number;
  readonly ca?: string;
}

export interface Reply {
  readonly status: number;
  readonly bytes: number;
  /** Undefined unless the request asked to keep it. */
  readonly body: Buffer | undefined;
}

interface Waiting {
  readonly keep: boolean;
  resolve(reply: Reply): void;
  reject(error: Error): void;
}

interface PartialReply {
  readonly status: number;
  bytes: number;
  /** Bytes of the body that are still to come, or its chunks. */
  left: number | ChunkedBody;
  readonly parts: Buffer[];
}

/** Silence of a server that is an error. A list of 100,000 objects takes seconds. */
const ANSWER_WITHIN_MS = 120_000;
const HEAD_END = Buffer.from('\r\n\r\n');

/** Parsing a certificate for each of thousands of connections would be measured too. */
const contexts = new Map<string, SecureContext>();

/** Connects; resolves after the handshake. */
export async function openSocket({ port, ca }: Endpoint): Promise<Socket> {
  const host = '127.0.0.1';
  if (ca === undefined) {
    const socket = connect({ host, port });
    await once(socket, 'connect');
    return socket;
  }
  const secureContext = contexts.get(ca) ?? createSecureContext({ ca });
  contexts.set(ca, secureContext);
  const socket = connectTls({ host, port, secureContext });
  await once(socket, 'secureConnect');
  return socket;
}

export class HttpConnection {
  readonly #socket: Socket;
  #waiting: Waiting | undefined;
  #head: Buffer = Buffer.alloc(0);
  /** The answer whose head has come: its status and how much of its body is still to come. */
  #reply: PartialReply | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => {
      try {
        this.#take(chunk);
      } catch (error) {
        this.#fail(error instanceof Error ? error : new Error(String(error)));
      }
    });
    socket.on('error', (error) => this.#fail(error));
    socket.setTimeout(ANSWER_WITHIN_MS, () => {
      if (this.#waiting === undefined) return;
      this.#fail(new Error(`The server sent nothing for ${ANSWER_WITHIN_MS / 1000} s`));
      socket.destroy();
    });
    socket.on('close', () => this.#fail(new Error('The server closed the connection')));
  }

  static async open(endpoint: Endpoint): Promise<HttpConnection> {
    return new HttpConnection(await openSocket(endpoint));
  }

  /** One request at a time. Rejects when the answer cannot be understood or the server is gone. */
  send(request: Buffer, keep = false): Promise<Reply> {
    return new Promise((resolve, reject) => {
      if (this.#socket.destroyed) {
        reject(new Error('The server closed the connection'));
        return;
      }
      this.#waiting = { keep, resolve, reject };
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#socket.removeAllListeners('close');
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    if (this.#reply !== undefined) {
      this.#takeBody(chunk);
      return;
    }
    this.#head = this.#head.length === 0 ? chunk : Buffer.concat([this.#head, chunk]);
    const end = this.#head.indexOf(HEAD_END);
    if (end === -1) return;
    const head = this.#head.toString('latin1', 0, end);
    const body = this.#head.subarray(end + HEAD_END.length);
    this.#head = Buffer.alloc(0);
    const status = Number(head.slice(9, 12));
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    if (length !== undefined) {
      this.#reply = { status, bytes: 0, left: Number(length), parts: [] };
    } else if (/\r\ntransfer-encoding: *chunked/i.test(head)) {
      this.#reply = { status, bytes: 0, left: new ChunkedBody(), parts: [] };
    } else {
      this.#fail(new Error(`An answer without a length: ${head.split('\r\n')[0]}`));
      return;
    }
    this.#takeBody(body);
  }

  #takeBody(chunk: Buffer): void {
    const reply = this.#reply;
    if (reply === undefined) return;
    const keep = this.#waiting?.keep === true;
    if (typeof reply.left === 'number') {
      reply.bytes += chunk.length;
      reply.left -= chunk.length;
      if (keep) reply.parts.push(chunk);
      if (reply.left > 0) return;
    } else {
      for (const data of reply.left.take(chunk)) {
        reply.bytes += data.length;
        if (keep) reply.parts.push(data);
      }
      if (!reply.left.ended) return;
    }
    const waiting = this.#waiting;
    this.#reply = undefined;
    this.#waiting = undefined;
    const body = keep ? Buffer.concat(reply.parts) : undefined;
    waiting?.resolve({ status: reply.status, bytes: reply.bytes, body });
  }

  #fail(error: Error): void {
    this.#waiting?.reject(error);
    this.#waiting = undefined;
  }
}

/** The bytes of a request. */
export function requestBytes(of: {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  token?: string;
  body?: Buffer;
  /** Media type of the body. */
  type?: string;
}): Buffer {
  const { method, path, token, body, type = 'application/json' } = of;
  const lines = [`${method} ${path} HTTP/1.1`, 'host: 127.0.0.1', 'accept: application/json'];
  if (token !== undefined) lines.push(`authorization: Bearer ${token}`);
  if (body !== undefined) {
    lines.push(`content-type: ${type}`, `content-length: ${body.length}`);
  }
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  return body === undefined ? head : Buffer.concat([head, body]);
}
