/** HTTP to identity providers, against servers that do what they should not. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import { jsonApi, pagesFrom } from '../../src/sign-in/connectors/json-api.ts';
import { providerHttp } from '../../src/sign-in/provider-http.ts';
import { SignInError } from '../../src/sign-in/sign-in-error.ts';

const closing: (() => void)[] = [];

afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function serve(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function failure(url: string, limits = {}): Promise<SignInError> {
  const http = providerHttp({}, limits);
  const error = await http.fetch(url).catch((reason: unknown) => reason);
  await http.close();
  expect(error).toBeInstanceOf(SignInError);
  return error as SignInError;
}

const MIB = 1024 * 1024;

test.each([
  ['plain', 1.5 * MIB, false],
  ['packed', 1.5 * MIB, true],
  ['packed a thousand times', 200 * MIB, true],
])('an answer over a mebibyte is not taken: %s', async (_, size, isPacked) => {
  const body = isPacked ? gzipSync(Buffer.alloc(size)) : Buffer.alloc(size);
  const url = await serve((_, response) => {
    response.writeHead(200, isPacked ? { 'content-encoding': 'gzip' } : {});
    response.end(body);
  });

  expect(await failure(url)).toMatchObject({ reason: 'provider-unreachable', code: 502 });
});

test.each([[false], [true]])('an answer of a mebibyte is taken, packed: %s', async (isPacked) => {
  const body = Buffer.alloc(MIB, 'x');
  const url = await serve((_, response) => {
    response.writeHead(200, isPacked ? { 'content-encoding': 'gzip' } : {});
    response.end(isPacked ? gzipSync(body) : body);
  });
  const http = providerHttp();
  closing.push(() => void http.close());

  const answer = await http.fetch(url);

  expect((await answer.arrayBuffer()).byteLength).toBe(MIB);
});

test('a body that does not end is given up at the deadline', async () => {
  const url = await serve((_, response) => {
    response.writeHead(200);
    response.write('{');
  });

  const error = await failure(url, { deadlineMs: 50 });

  expect(error).toMatchObject({ reason: 'provider-slow', code: 504, isFinal: false });
});

test('a redirect is an answer, and the client does not follow it', async () => {
  const visited: string[] = [];
  const url = await serve((request, response) => {
    visited.push(String(request.url));
    response.writeHead(302, { location: '/elsewhere' }).end();
  });
  const http = providerHttp();
  closing.push(() => void http.close());

  const answer = await http.fetch(`${url}/first`);

  expect(answer.status).toBe(302);
  expect(visited).toEqual(['/first']);
});

test('an unreachable provider is named by its origin alone', async () => {
  const url = await serve((request) => request.socket.destroy());

  const error = await failure(`${url}/path?token=s3cret`);

  expect(error.message).toContain(url);
  expect(error.message).not.toContain('s3cret');
});

test('pages of 1 MB each end after 16 of them', async () => {
  const page = JSON.stringify(['x'.repeat(MIB - 100)]);
  let requests = 0;
  const base = await serve((_request, response) => {
    requests += 1;
    response.end(page);
  });
  const http = providerHttp();
  closing.push(() => void http.close());
  const api = jsonApi({ http, base, token: 't', signal: new AbortController().signal });
  const read = async () => {
    for await (const answer of pagesFrom(api, api.get('/0'), () => `/${requests}`)) {
      expect(answer.status).toBe(200);
    }
  };
  await expect(read()).rejects.toMatchObject({ reason: 'endless-pages', code: 502 });
  expect(requests).toBeLessThan(20);
});

test('an answer with more values than any page has is refused', async () => {
  const url = await serve((_request, response) => response.end(`[${'{},'.repeat(60_000)}{}]`));
  expect(await failure(url)).toMatchObject({ reason: 'provider-unreachable', code: 502 });
});
