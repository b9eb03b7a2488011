/** Bodies in many small parts, over each protocol. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { connect as connectTcp, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/apimachinery/clock.ts';
import { createListener } from '../../src/server/listener.ts';
import { ensureServerCertificate } from '../../src/tls/server-certificate.ts';
import {
  END_HEADERS,
  END_STREAM,
  FRAME,
  frame,
  PREFACE,
  requestBlock,
} from '../support/http2-frames.ts';

let certificate: Awaited<ReturnType<typeof ensureServerCertificate>>;

beforeAll(async () => {
  const directory = mkdtempSync(join(tmpdir(), 'gitplane-small-parts-'));
  const hostnames = ['localhost'];
  certificate = await ensureServerCertificate({ directory, hostnames, clock: systemClock });
  return () => rmSync(directory, { recursive: true });
});

/** Small and large parts in turn, with each byte at its own place. */
const SIZES = [...Array(5000).fill(1), 1000, ...Array(5000).fill(3), 255, 256, 4096, 1, 2];
const TOTAL = SIZES.reduce((sum, size) => sum + size, 0);
const BODY = Buffer.from(Array.from({ length: TOTAL }, (_, at) => (at * 7) % 251));

function parts(): Buffer[] {
  let at = 0;
  return SIZES.map((size) => {
    at += size;
    return BODY.subarray(at - size, at);
  });
}

const chunk = (part: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')]);

const http1 = (): Buffer[] => [
  Buffer.from('POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n'),
  ...parts().map(chunk),
  Buffer.from('0\r\n\r\n'),
];

const http2 = (): Buffer[] => [
  PREFACE,
  frame(FRAME.settings),
  frame(FRAME.headers, END_HEADERS, 1, requestBlock('POST', '/')),
  ...parts().map((part) => frame(FRAME.data, 0, 1, part)),
  frame(FRAME.data, END_STREAM, 1),
];

test.each([
  { title: 'HTTP/1.1', alpn: undefined, wire: http1 },
  { title: 'HTTP/1.1 over TLS', alpn: 'http/1.1', wire: http1 },
  { title: 'HTTP/2', alpn: 'h2', wire: http2 },
])('$title: a body in 10,000 small parts is read whole, in few of them', async ({ alpn, wire }) => {
  const { certificatePem: cert, keyPem: key, caPem: ca } = certificate;
  let begin: (request: IncomingMessage) => void = () => undefined;
  const begun = new Promise<IncomingMessage>((resolve) => {
    begin = resolve;
  });
  const tls = alpn === undefined ? undefined : { cert, key };
  const { server } = createListener(tls, (request) => begin(request));
  onTestFinished(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as { port: number };
  const client: Socket =
    alpn === undefined
      ? connectTcp(port, '127.0.0.1')
      : connectTls({ port, servername: 'localhost', ca, ALPNProtocols: [alpn] });
  onTestFinished(() => void client.destroy());
  client.resume().write(Buffer.concat(wire()));
  const read: Buffer[] = [];
  for await (const part of await begun) read.push(part);
  expect(Buffer.concat(read).equals(BODY)).toBe(true);
  expect(read.length).toBeLessThan(100);
});
