/** `Expect: 100-continue` (RFC 9110, section 10.1.1) in a pipeline of HTTP/1.1. */
import { once } from 'node:events';
import type { Server, ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createListener } from '../../src/server/listener.ts';

const EXPECTS = 'PUT / HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n';
const FIRST = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n';
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';

interface Waiting {
  readonly method: string | undefined;
  readonly response: ServerResponse;
}

/** Requests wait for the test to answer them. */
async function listen(): Promise<{ server: Server; waiting: Waiting[] }> {
  const waiting: Waiting[] = [];
  const { server } = createListener(undefined, ({ method }, response) => {
    waiting.push({ method, response });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { server, waiting };
}

/** Sends a text, and returns all that was received so far. */
function send(server: Server, text: string): () => string {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  let received = '';
  socket.on('data', (part) => {
    received += part;
  });
  socket.write(text);
  return () => received;
}

function answer(one: Waiting | undefined, text: string): void {
  one?.response.setHeader('content-length', text.length);
  one?.response.end(Buffer.from(text));
}

test('a request is told to continue before it is answered', async () => {
  const { server, waiting } = await listen();
  const received = send(server, EXPECTS);
  await expect.poll(received).toBe(CONTINUE);
  answer(waiting[0], 'done');
  await expect.poll(received).toMatch(/^HTTP\/1\.1 100 .*\r\n\r\nHTTP\/1\.1 200 .*\r\n\r\ndone$/s);
});

test('a request behind another one is told to continue when it is its turn', async () => {
  const { server, waiting } = await listen();
  const received = send(server, FIRST + EXPECTS);
  await expect.poll(() => waiting.length).toBe(2);
  answer(waiting[0], 'first');
  await expect.poll(received).toMatch(/\r\n\r\nfirstHTTP\/1\.1 100 Continue\r\n\r\n$/);
});

test('an answer that waits for another one is not interrupted by the word to continue', async () => {
  const { server, waiting } = await listen();
  const received = send(server, FIRST + EXPECTS);
  await expect.poll(() => waiting.length).toBe(2);
  answer(waiting[1], 'second');
  answer(waiting[0], 'first');
  await expect.poll(received).toMatch(/\r\n\r\nsecond$/);
  expect(received()).not.toContain(CONTINUE);
});
