/**
 * A secret store over HTTP or HTTPS, as OpenBao and Vault answer (test/support/kv has the rest).
 * Tests script what goes wrong on the wire: cut connections, answers lost after a write, waits.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { StoreRequest } from '../../src/secret-store-client/transport.ts';
import { KvStore } from './kv/kv-store.ts';

/** What becomes of one request on the wire. */
export type WireFault =
  /** The connection ends before the store hears of it, or after it has done it. */
  | 'cut-before'
  | 'cut-after'
  /** No answer ever. */
  | 'hang'
  /** Elsewhere: the address in `redirectTo`. */
  | 'redirect';

export interface KvServer {
  readonly address: string;
  readonly store: KvStore;
  /** One for each of the next requests; undefined: nothing goes wrong. */
  readonly faults: (WireFault | undefined)[];
  /** Headers of every request, for what must not be sent. */
  readonly seen: IncomingMessage['headers'][];
  redirectTo: string;
  close(): Promise<void>;
}

export interface KvServerOptions {
  readonly store?: KvStore;
  /** With `ca`: no connection without a client certificate of that authority. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca?: string };
  /** Path before `/v1/`, as behind a proxy; requests elsewhere are 404. */
  readonly prefix?: string;
}

/** Listens on a port of the kernel's choice, with the root token `root`. */
export async function startKvServer(options: KvServerOptions = {}): Promise<KvServer> {
  const { store = new KvStore(), tls, prefix = '' } = options;
  store.token('root');
  const faults: KvServer['faults'] = [];
  const seen: KvServer['seen'] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    seen.push(request.headers);
    const fault = faults.shift();
    if (fault === 'hang') return;
    if (fault === 'cut-before') return void request.socket.destroy();
    if (fault === 'redirect') {
      response.writeHead(307, { location: kv.redirectTo + request.url }).end();
      return;
    }
    if (!request.url?.startsWith(`${prefix}/v1/`)) return void response.writeHead(404).end();
    const result = store.handle(storeRequest(request, body, prefix));
    if (fault === 'cut-after') return void request.socket.destroy();
    response.writeHead(result.status, { 'content-type': 'application/json', ...result.headers });
    response.end(result.text);
  };
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    answer(request, response).catch(() => request.socket.destroy());
  };
  const server = tls
    ? createTlsServer({ ...tls, requestCert: tls.ca !== undefined }, listener)
    : createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const kv: KvServer = {
    address: `${tls ? 'https' : 'http'}://127.0.0.1:${port}${prefix}`,
    store,
    faults,
    seen,
    redirectTo: '',
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return kv;
}

function storeRequest(request: IncomingMessage, body: string, prefix: string): StoreRequest {
  const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)]);
  return {
    method: (request.method ?? 'GET') as StoreRequest['method'],
    path: request.url?.slice(prefix.length) ?? '/',
    headers: Object.fromEntries(headers) as Record<string, string>,
    ...(body !== '' && { body }),
  };
}
