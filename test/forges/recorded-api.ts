/**
 * A server that answers as the API of a forge does, by the examples of its documentation. Requests that
 * no example covers are answered with 404 and fail the test.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Received {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  // biome-ignore lint/suspicious/noExplicitAny: tests reach into bodies of every shape
  readonly body: any;
}

export interface Recorded {
  /** `GET /api/user`: the path without its query. */
  readonly request: string;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly answer?: unknown;
}

export interface RecordedApi {
  readonly url: string;
  readonly received: Received[];
  /** Each example is used once, in order; the last one of a request stays. */
  readonly examples: Recorded[];
}

export async function recordedApi(examples: readonly Recorded[]): Promise<RecordedApi> {
  const left = [...examples];
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8');
      const { method = '', url: path = '', headers } = request;
      received.push({ method, path, headers, body: text === '' ? undefined : JSON.parse(text) });
      const name = `${method} ${path.split('?')[0]}`;
      const index = left.findIndex((one) => one.request === name);
      const example = left[index];
      if (example === undefined) return void response.writeHead(404).end('{}');
      if (left.findLastIndex((one) => one.request === name) !== index) left.splice(index, 1);
      response.writeHead(example.status ?? 200, {
        'content-type': 'application/json',
        ...example.headers,
      });
      response.end(example.answer === undefined ? '' : JSON.stringify(example.answer));
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, received, examples: left };
}
