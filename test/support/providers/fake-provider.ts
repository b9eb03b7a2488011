/** What the small servers that stand in for identity providers have in common. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { ConnectorContext } from '../../../src/sign-in/connector.ts';
import { providerHttp } from '../../../src/sign-in/provider-http.ts';

export interface SeenRequest {
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface FakeAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON; `text` is sent as it is. */
  readonly json?: unknown;
  readonly text?: string;
}

export type Answerer = (
  request: SeenRequest,
) => FakeAnswer | undefined | Promise<FakeAnswer | undefined>;

export interface FakeServer {
  /** On loopback, with a port of the kernel's choice. */
  readonly origin: string;
  /** Every request, in its order. */
  readonly seen: SeenRequest[];
  /** Asked first; undefined: the server answers as always. */
  override: Answerer | undefined;
  close(): Promise<void>;
}

export async function startFake(
  answerer: Answerer,
  tls?: { readonly cert: string; readonly key: string },
): Promise<FakeServer> {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const seen = await seenRequest(request);
    fake.seen.push(seen);
    const found = (await fake.override?.(seen)) ?? (await answerer(seen));
    const { status = 200, headers = {}, json, text: plain } = found ?? { status: 404, json: {} };
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(json === undefined ? plain : JSON.stringify(json));
  };
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    answer(request, response).catch((error: unknown) => {
      response.writeHead(500).end(String(error));
    });
  };
  const server = tls ? createTlsServer(tls, listener) : createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const fake: FakeServer = {
    origin: `${tls ? 'https' : 'http'}://localhost:${port}`,
    seen: [],
    override: undefined,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return fake;
}

async function seenRequest(request: IncomingMessage): Promise<SeenRequest> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://any');
  const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)]);
  return {
    method: request.method ?? 'GET',
    host: request.headers.host ?? '',
    path: pathname,
    query: searchParams,
    headers: Object.fromEntries(headers) as Record<string, string>,
    body: await text(request),
  };
}

/** A connector's surroundings, in which the origins of a provider are on loopback and no other can be reached. */
export interface FakeContext extends ConnectorContext {
  readonly warnings: string[];
  /** Origins that were asked for. */
  readonly asked: Set<string>;
  readonly clock: { now(): number; shift(ms: number): void };
}

export function fakeContext(origins: Readonly<Record<string, string>>): FakeContext {
  const warnings: string[] = [];
  const asked = new Set<string>();
  let shifted = 0;
  return {
    baseUrl: 'https://platform.example.com',
    warnings,
    asked,
    warn: (message) => warnings.push(message),
    clock: {
      now: () => Date.now() + shifted,
      shift: (ms) => {
        shifted += ms;
      },
    },
    http: (trust) => {
      const http = providerHttp(trust);
      return {
        fetch: async (input, init) => {
          const url = new URL(String(input));
          asked.add(url.origin);
          const there = origins[url.origin];
          if (there === undefined) throw new Error(`the test leads nobody to ${url.origin}`);
          return http.fetch(there + url.pathname + url.search, init);
        },
        close: () => http.close(),
      };
    },
  };
}
