/** Requests to servers that are slow, endless, redirect, or are somewhere else. */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import {
  HttpClient,
  type HttpClientOptions,
  UnreachableError,
} from '../../src/outbound/http-client.ts';

async function serve(listener: RequestListener): Promise<{ url: string; requests: string[] }> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    listener(request, response);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, requests };
}

function client(options?: HttpClientOptions): HttpClient {
  const made = new HttpClient(options);
  onTestFinished(() => made.close());
  return made;
}

test('sends a body, and reads the answer', async () => {
  let body = '';
  const { url } = await serve((request, response) => {
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on('end', () => response.writeHead(201, { 'x-a': 'b' }).end('made'));
  });
  const answer = await client().send({ method: 'POST', url: `${url}/x`, body: '{}' });
  expect(answer).toMatchObject({ status: 201, text: 'made' });
  expect(answer.headers['x-a']).toBe('b');
  expect(body).toBe('{}');
});

test('follows no redirect, not even to a metadata service', async () => {
  const location = 'http://169.254.169.254/latest/meta-data';
  const { url, requests } = await serve((_request, response) => {
    response.writeHead(302, { location }).end();
  });
  expect((await client().send({ method: 'POST', url, body: '{}' })).status).toBe(302);
  expect(requests).toEqual(['POST /']);
});

test.each(['http://169.254.169.254/x', 'http://[fd00:ec2::254]/x', 'http://0xa9fea9fe/x'])(
  'does not connect to %s',
  async (url) => {
    const sent = client().send({ method: 'GET', url });
    await expect(sent).rejects.toThrow(/metadata service/);
  },
);

test('ends at the deadline, and its error has no path', async () => {
  const { url } = await serve((_request, response) => {
    // One byte now and then never is an idle connection.
    const timer = setInterval(() => response.write('.'), 20);
    response.on('close', () => clearInterval(timer));
  });
  const sent = client({ deadlineMs: 200 }).send({ method: 'GET', url: `${url}/T00/secret` });
  await expect(sent).rejects.toThrow(UnreachableError);
  await expect(sent).rejects.toThrow(`Cannot reach ${url}: no answer within 200 ms`);
});

test('ends at the size limit, or reads no body at all', async () => {
  let written = 0;
  const { url } = await serve((_request, response) => {
    const more = (): void => {
      while (!response.destroyed && written < 1e9) {
        written += 65_536;
        if (!response.write(Buffer.alloc(65_536))) break;
      }
    };
    response.on('drain', more);
    more();
  });
  const sent = client({ maxBytes: 100_000 }).send({ method: 'GET', url });
  await expect(sent).rejects.toThrow('the answer exceeds 100000 bytes');
  const ignored = await client({ maxBytes: 0 }).send({ method: 'GET', url });
  expect(ignored).toMatchObject({ status: 200, text: '' });
  expect(written).toBeLessThan(1e9);
});

test('a server that is away, and a path that is secret', async () => {
  const { url } = await serve((_request, response) => response.destroy());
  const sent = client().send({ method: 'POST', url: `${url}/services/T0/B0/secret`, body: '' });
  const error = await sent.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(UnreachableError);
  expect(String(error)).not.toContain('secret');
});
