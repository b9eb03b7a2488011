/** Requests to the daemon over connections that stay open. */
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { join } from 'node:path';

export interface Reply {
  readonly code: number;
  readonly text: string;
}

export interface Sent {
  readonly token?: string;
  readonly body?: object | string | Buffer;
  readonly type?: string;
  readonly accept?: string;
  /** The token goes as the password of basic authentication, as git sends it. */
  readonly basic?: boolean;
  /** Ends an answer that goes on, such as a watch, after it was silent for that long. */
  readonly untilSilentMs?: number;
  /** Called when the server has read the headers and waits for the body. */
  readonly meanwhile?: () => Promise<unknown>;
  /** The loopback address to come from: failed sign-ins are counted by address. */
  readonly from?: string;
}

const MOST_BYTES = 32 * 1024 * 1024;
const DEADLINE_MS = 60_000;

export class HttpClient {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 16 });
  #port: number;
  readonly #ca: Buffer;

  constructor(daemon: { readonly port: number; readonly dataDir: string }) {
    this.#port = daemon.port;
    this.#ca = readFileSync(join(daemon.dataDir, 'tls/ca.crt'));
  }

  /** Goes on with a daemon that was started again, on another port. */
  moveTo({ port }: { readonly port: number }): void {
    this.#port = port;
  }

  close(): void {
    this.#agent.destroy();
  }

  call(method: string, path: string, sent: Sent = {}): Promise<Reply> {
    const { body, token = '' } = sent;
    const isRaw = typeof body === 'string' || Buffer.isBuffer(body) || body === undefined;
    const bytes = isRaw ? (body ?? '') : JSON.stringify(body);
    const credentials = sent.basic
      ? `Basic ${Buffer.from(`x:${token}`).toString('base64')}`
      : `Bearer ${token}`;
    const headers: Record<string, string> = {
      authorization: credentials,
      ...(body === undefined ? {} : { 'content-type': sent.type ?? 'application/json' }),
      ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(bytes)) }),
      ...(sent.accept === undefined ? {} : { accept: sent.accept }),
      ...(sent.meanwhile === undefined ? {} : { expect: '100-continue' }),
    };
    const to = { host: '127.0.0.1', port: this.#port, ca: this.#ca, method, path, headers };
    const own = sent.from === undefined ? {} : { localAddress: sent.from };
    return new Promise((resolve, reject) => {
      let waited: Promise<unknown> = Promise.resolve();
      const asked = request({ ...to, ...own, agent: this.#agent }, (response) => {
        // A refusal may come before the body, and before the end of `meanwhile`.
        const text = collect(response, sent.untilSilentMs);
        waited.then(() => text).then(resolve, reject);
      });
      asked.setTimeout(DEADLINE_MS, () => asked.destroy(new Error(`${method} ${path}: no answer`)));
      asked.on('error', reject);
      if (sent.meanwhile === undefined) asked.end(bytes);
      else {
        asked.flushHeaders();
        asked.once('continue', () => {
          waited = (sent.meanwhile?.() ?? waited).then(() => void asked.end(bytes));
        });
      }
    });
  }
}

function collect(response: IncomingMessage, untilSilentMs: number | undefined): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const end = (): void => {
      clearTimeout(silence);
      const text = Buffer.concat(chunks).toString('utf8');
      resolve({ code: response.statusCode ?? 0, text });
    };
    const stop = (): void => {
      end();
      response.destroy();
    };
    let silence = untilSilentMs === undefined ? undefined : setTimeout(stop, untilSilentMs);
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      length += chunk.length;
      if (length > MOST_BYTES) response.destroy(new Error('The answer is too large'));
      if (silence === undefined) return;
      clearTimeout(silence);
      silence = setTimeout(stop, untilSilentMs);
    });
    response.on('end', end);
    response.on('error', (error: Error) => {
      if (silence === undefined) reject(error);
    });
  });
}
