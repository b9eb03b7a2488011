/** The end of HTTP/2 connections that ask for nothing, and of bodies that do not come. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { type ClientHttp2Session, connect } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/apimachinery/clock.ts';
import { createHttp2Server, cutOff } from '../../src/server/http2.ts';
import { ensureServerCertificate } from '../../src/tls/server-certificate.ts';

async function served(
  handler: Parameters<typeof createHttp2Server>[1],
  idleMs: number,
): Promise<ClientHttp2Session> {
  const directory = mkdtempSync(join(tmpdir(), 'gitplane-http2-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const { certificatePem, keyPem, caPem } = await ensureServerCertificate({
    directory,
    hostnames: ['localhost'],
    clock: systemClock,
  });
  const server = createHttp2Server({ cert: certificatePem, key: keyPem }, handler, idleMs);
  onTestFinished(() => void server.close());
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as { port: number };
  const session = connect(`https://localhost:${port}`, { ca: caPem });
  session.on('error', () => undefined);
  onTestFinished(() => session.destroy());
  return session;
}

test('a connection without a request ends in time, despite pings', async () => {
  const session = await served((_request, response) => void response.end(), 200);
  await once(session, 'connect');
  const pinging = setInterval(() => session.ping(() => undefined), 20);
  onTestFinished(() => clearInterval(pinging));
  await once(session, 'close');
});

test('a connection with a watch stays, and ends in time after it', async () => {
  let end = (): void => undefined;
  const session = await served((_request, response) => {
    response.writeHead(200);
    response.flushHeaders();
    end = () => void response.end();
  }, 20);
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
  }, 10_000);
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
