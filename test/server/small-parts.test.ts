/** Bodies in many small parts, over each protocol. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { connect as connectTcp, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/apimachinery/clock.ts';
import { createListener, type Handler } from '../../src/server/listener.ts';
import { writeAnswer } from '../../src/server/output/send.ts';
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
const SIZES = [...Array(2000).fill(1), 1000, ...Array(2000).fill(3), 255, 256, 4096, 1, 2];
const TOTAL = SIZES.reduce((sum, size) => sum + size, 0);
const BODY = Buffer.from(Array.from({ length: TOTAL }, (_, at) => (at * 7) % 251));

/** A body of this many bytes in parts of one. */
const tiny = (bytes: number): Buffer[] => Array(bytes).fill(Buffer.from('x'));

function parts(): Buffer[] {
  let at = 0;
  return SIZES.map((size) => {
    at += size;
    return BODY.subarray(at - size, at);
  });
}

const chunk = (part: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')]);

type Body = readonly Buffer[];

/** One request after the other. */
const http1 = (...bodies: Body[]): Buffer[] =>
  bodies.flatMap((body) => [
    Buffer.from('POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n'),
    ...body.map(chunk),
    Buffer.from('0\r\n\r\n'),
  ]);

const http2 = (...bodies: Body[]): Buffer[] => [
  PREFACE,
  frame(FRAME.settings),
  ...bodies.flatMap((body, i) => {
    const stream = 1 + 2 * i;
    return [
      frame(FRAME.headers, END_HEADERS, stream, requestBlock('POST', '/')),
      ...body.map((part) => frame(FRAME.data, 0, stream, part)),
      frame(FRAME.data, END_STREAM, stream),
    ];
  }),
];

/** RST_STREAM of the first stream, with any code. */
const RESET = frame(FRAME.reset, 0, 1, Buffer.alloc(4)).subarray(0, 9).toString('latin1');

const PROTOCOLS = [
  { title: 'HTTP/1.1', alpn: undefined, wire: http1 },
  { title: 'HTTP/1.1 over TLS', alpn: 'http/1.1', wire: http1 },
  { title: 'HTTP/2', alpn: 'h2', wire: http2 },
];

/** Sends bytes to a server whose requests the handler answers. The answer is all bytes until the connection ends. */
async function send(bytes: Buffer, alpn: string | undefined, handler: Handler): Promise<Socket> {
  const { certificatePem: cert, keyPem: key, caPem: ca } = certificate;
  const tls = alpn === undefined ? undefined : { cert, key };
  const { server } = createListener(tls, handler);
  onTestFinished(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as { port: number };
  const client: Socket =
    alpn === undefined
      ? connectTcp(port, '127.0.0.1')
      : connectTls({ port, servername: 'localhost', ca, ALPNProtocols: [alpn] });
  onTestFinished(() => void client.destroy());
  client.write(bytes);
  return client;
}

describe.each(PROTOCOLS)('$title', ({ alpn, wire }) => {
  test('a body in 4,000 small parts is read whole, in few of them', async () => {
    let begin: (request: IncomingMessage) => void = () => undefined;
    const begun = new Promise<IncomingMessage>((resolve) => {
      begin = resolve;
    });
    const client = await send(Buffer.concat(wire(parts())), alpn, (request) => begin(request));
    client.resume();
    const read: Buffer[] = [];
    for await (const part of await begun) read.push(part);
    expect(Buffer.concat(read).equals(BODY)).toBe(true);
    expect(read.length).toBeLessThan(100);
  });

  test.each([
    ['a body', [tiny(20_000)]],
    ['one of several bodies of a connection', Array(20).fill(tiny(1000))],
  ])(
    '%s in too many tiny parts is refused: the client gets the answer, and the connection ends',
    async (_what, bodies) => {
      const answer: Handler = async (request, response) => {
        const problem = await buffer(request).then(
          () => undefined,
          ({ message }) => message,
        );
        if (problem === undefined) response.end('read');
        else {
          const refusal = { code: 400, contentType: 'text/plain', body: Buffer.from(problem) };
          writeAnswer(response, refusal, { id: 'x', last: true });
        }
      };
      const client = await send(Buffer.concat(wire(...bodies)), alpn, answer);
      const text = (await buffer(client)).toString('latin1');
      expect(text).toContain('too many parts of less than 16 bytes: send it in larger chunks');
    },
  );

  test('a body that nobody reads is cut off after too many tiny parts', async () => {
    const answer: Handler = (_request, response) => void response.end('early');
    const client = await send(Buffer.concat(wire(tiny(20_000)).slice(0, -1)), alpn, answer);
    let text = '';
    client.on('data', (part) => {
      text += part.toString('latin1');
    });
    client.on('error', () => undefined);
    // The end of the stream, or of the connection.
    if (alpn === 'h2') await expect.poll(() => text).toContain(RESET);
    else await once(client, 'close');
  });
});
