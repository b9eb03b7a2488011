/** The end of HTTP/2 connections that ask for nothing, and of bodies that do not come. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { type ClientHttp2Session, connect } from 'node:http2';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/apimachinery/clock.ts';
import { createHttp2Server, cutOff } from '../../src/server/http2.ts';
import { ensureServerCertificate } from '../../src/tls/server-certificate.ts';
import {
  END_HEADERS,
  END_STREAM,
  FRAME,
  frame,
  PREFACE,
  requestBlock,
} from '../support/http2-frames.ts';

type Handler = Parameters<typeof createHttp2Server>[1];

async function listening(handler: Handler, limits: Parameters<typeof createHttp2Server>[2]) {
  const directory = mkdtempSync(join(tmpdir(), 'gitplane-http2-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const { certificatePem, keyPem, caPem } = await ensureServerCertificate({
    directory,
    hostnames: ['localhost'],
    clock: systemClock,
  });
  const server = createHttp2Server({ cert: certificatePem, key: keyPem }, handler, limits);
  onTestFinished(() => void server.close());
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as { port: number };
  return { server, port, ca: caPem };
}

async function served(
  handler: Handler,
  limits: Parameters<typeof createHttp2Server>[2],
): Promise<ClientHttp2Session> {
  const { port, ca } = await listening(handler, limits);
  const session = connect(`https://localhost:${port}`, { ca });
  session.on('error', () => undefined);
  onTestFinished(() => session.destroy());
  return session;
}

test('a connection without a request ends in time, despite pings', async () => {
  const session = await served((_request, response) => void response.end(), { idleMs: 200 });
  await once(session, 'connect');
  const pinging = setInterval(() => session.ping(() => undefined), 20);
  onTestFinished(() => clearInterval(pinging));
  await once(session, 'close');
});

test.each([
  ['an error', 8],
  ['no error', 0],
])('a connection ends whose requests are taken back for %s', async (_reason, code) => {
  let begun = 0;
  const takeBack = (): void => {
    const stream = 2 * begun - 1;
    client.write(
      Buffer.concat([
        frame(FRAME.reset, 0, stream, Buffer.from([0, 0, 0, code])),
        frame(FRAME.headers, END_HEADERS + END_STREAM, stream + 2, requestBlock('GET', '/')),
      ]),
    );
    // Only a connection that does not end gets here.
    if (begun === 600) client.end();
  };
  const { port, ca } = await listening(() => {
    begun += 1;
    takeBack();
  }, {});
  const client = connectTls({ port, servername: 'localhost', ca, ALPNProtocols: ['h2'] });
  onTestFinished(() => void client.destroy());
  client.on('error', () => undefined).resume();
  await once(client, 'secureConnect');
  const first = frame(FRAME.headers, END_HEADERS + END_STREAM, 1, requestBlock('GET', '/'));
  client.write(Buffer.concat([PREFACE, frame(FRAME.settings), first]));
  await once(client, 'close');
  expect(begun).toBeLessThan(600);
});

const OPENED = frame(FRAME.headers, END_HEADERS, 1, requestBlock('POST', '/'));
/** Type, flags and stream of its frame. */
const GOAWAY = Buffer.from([FRAME.goaway, 0, 0, 0, 0, 0]);

test.each([
  ['headers that cannot be decoded', frame(FRAME.headers, END_HEADERS, 3, Buffer.alloc(16, 0xff))],
  ['data of a stream that nobody opened', frame(FRAME.data, 0, 3)],
])('a connection ends after %s, beside an open request', async (_error, broken) => {
  const { server, port, ca } = await listening(() => undefined, {
    idleMs: 3_600_000,
    silentMs: 50,
  });
  const ended = once(server, 'connection').then(([socket]) => once(socket as Socket, 'close'));
  const client = connectTls({ port, servername: 'localhost', ca, ALPNProtocols: ['h2'] });
  onTestFinished(() => void client.destroy());
  await once(client, 'secureConnect');
  client.write(Buffer.concat([PREFACE, frame(FRAME.settings), OPENED, broken]));
  let answer = Buffer.alloc(0);
  while (!answer.includes(GOAWAY)) {
    const [part] = (await once(client, 'data')) as [Buffer];
    answer = Buffer.concat([answer, part]);
  }
  client.destroy();
  await ended;
});

test('a silent connection with a watch stays while its client answers pings', async () => {
  const session = await served(
    (_request, response) => {
      response.writeHead(200);
      response.flushHeaders();
    },
    { silentMs: 1000 },
  );
  await once(session.request({ ':path': '/' }), 'response');
  await once(session, 'ping');
  await once(session, 'ping');
  expect(session.closed).toBe(false);
});

test('a connection with a watch stays, and ends in time after it', async () => {
  let end = (): void => undefined;
  const session = await served(
    (_request, response) => {
      response.writeHead(200);
      response.flushHeaders();
      end = () => void response.end();
    },
    { idleMs: 20 },
  );
  const watch = session.request({ ':path': '/' });
  await once(watch, 'response');
  watch.resume();
  // Longer than the limit, as the answers to so many pings show.
  const begun = performance.now();
  while (performance.now() - begun < 100) {
    await new Promise((resolve) => session.ping(resolve));
  }
  expect(session.closed).toBe(false);
  end();
  await once(session, 'close');
});

test('a body that does not come ends its request, and no other of the connection', async () => {
  const begun: IncomingMessage[] = [];
  const session = await served((request, response) => {
    if (request.method === 'POST') begun.push(request);
    else response.end();
  }, {});
  const stuck = session.request({ ':path': '/', ':method': 'POST' });
  stuck.on('error', () => undefined);
  const other = session.request({ ':path': '/' });
  await once(other, 'response');
  other.resume();
  await once(other, 'end');
  const [request] = begun as [IncomingMessage];
  expect(request.headers['transfer-encoding']).toBe('chunked');
  cutOff(request);
  await once(stuck, 'close');
  const next = session.request({ ':path': '/' });
  await once(next, 'response');
});

/** Begins and takes back so many streams in one write, with more frames behind them. */
async function takingBack(count: number, more: readonly Buffer[]): Promise<readonly string[]> {
  const asked: string[] = [];
  const { port, ca } = await listening((request, response) => {
    asked.push(String(request.url));
    response.end();
  }, {});
  const client = connectTls({ port, servername: 'localhost', ca, ALPNProtocols: ['h2'] });
  onTestFinished(() => void client.destroy());
  client.on('error', () => undefined).resume();
  await once(client, 'secureConnect');
  const resets = Array.from({ length: count }, (_, i) =>
    Buffer.concat([
      frame(FRAME.headers, END_HEADERS + END_STREAM, 1 + 2 * i, requestBlock('GET', '/back')),
      frame(FRAME.reset, 0, 1 + 2 * i, Buffer.from([0, 0, 0, 8])),
    ]),
  );
  client.write(Buffer.concat([PREFACE, frame(FRAME.settings), ...resets, ...more]));
  await once(client, 'close');
  return asked;
}

test('streams that are taken back in one read start no work, and their connection ends', async () => {
  expect(await takingBack(251, [])).toEqual([]);
});

test('a request behind streams that were taken back is answered', async () => {
  const last = requestBlock('GET', '/kept');
  const goaway = frame(FRAME.goaway, 0, 0, Buffer.alloc(8));
  const kept = frame(FRAME.headers, END_HEADERS + END_STREAM, 501, last);
  expect(await takingBack(249, [kept, goaway])).toEqual(['/kept']);
});
