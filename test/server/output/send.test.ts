/** Long answers in parts, over each protocol. */
import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { writeAnswer } from '../../../src/server/output/send.ts';

const PART_BYTES = 256 * 1024;
const PARTS = Array.from({ length: 40 }, (_, i) => Buffer.alloc(PART_BYTES, `part ${i},`));
const BODY = Buffer.from('head:');
const ANSWER = { code: 200, contentType: 'application/json', body: BODY, rest: PARTS };
const ALL = Buffer.concat([BODY, ...PARTS]);

function answering(take: (response: ServerResponse) => void) {
  return (_request: IncomingMessage, response: ServerResponse): void => {
    take(response);
    writeAnswer(response, ANSWER, { id: 'one', last: false });
  };
}

async function serving(
  take: (response: ServerResponse) => void = () => undefined,
): Promise<number> {
  const server = createServer(answering(take)).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function asked(port: number): Promise<IncomingMessage> {
  const [response] = await once(get({ host: '127.0.0.1', port }), 'response');
  return response;
}

test('all parts arrive in their order, with the length of all', async () => {
  const response = await asked(await serving());
  expect(response.headers['content-length']).toBe(String(ALL.length));
  expect((await buffer(response)).equals(ALL)).toBe(true);
});

test('all parts arrive in their order over HTTP/2', async () => {
  const handler = answering(() => undefined);
  const server = createHttp2Server((request, response) =>
    handler(request as unknown as IncomingMessage, response as unknown as ServerResponse),
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const session = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => {
    session.destroy();
    server.close();
  });
  expect((await buffer(session.request({ ':path': '/' }))).equals(ALL)).toBe(true);
});

test('a client that does not read gets no more parts to wait for it', async () => {
  const taken: ServerResponse[] = [];
  const port = await serving((response) => taken.push(response));
  const response = await asked(port);
  response.pause();
  const [sent] = taken;
  const waiting = (): number => (sent?.socket?.writableLength ?? 0) + (sent?.writableLength ?? 0);
  await expect.poll(waiting).toBeGreaterThan(0);
  expect(waiting()).toBeLessThan(3 * PART_BYTES);
  expect(sent?.writableFinished).toBe(false);

  expect((await buffer(response)).equals(ALL)).toBe(true);
});

test('a client that leaves ends the writing without an error', async () => {
  const taken: ServerResponse[] = [];
  const port = await serving((response) => taken.push(response));
  const response = await asked(port);
  response.on('error', () => undefined).destroy();
  const [sent] = taken;
  if (sent === undefined) throw new Error('no request arrived');
  if (!sent.closed) await once(sent, 'close');
  expect(sent.writableFinished).toBe(false);
});
