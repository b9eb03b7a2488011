/** Watches of clients that read slowly, over a real socket. */
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { EventSink } from '../../../src/server/output/event-sink.ts';

async function slowReader(): Promise<{ response: ServerResponse; read(): void; leave(): void }> {
  let opened: (response: ServerResponse) => void = () => undefined;
  const response = new Promise<ServerResponse>((resolve) => {
    opened = resolve;
  });
  const server = createServer((_request, answer) => opened(answer));
  onTestFinished(() => void server.close());
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  const sent = get({ port, host: '127.0.0.1' });
  const answered = new Promise<IncomingMessage>((resolve) => {
    sent.once('response', (answer) => resolve(answer.pause()));
  });
  sent.on('error', () => undefined);
  return {
    response: await response,
    read: () => void answered.then((answer) => answer.resume()),
    leave: () => void sent.destroy(),
  };
}

const LINE = Buffer.alloc(256 * 1024, 'x');

function listeners(response: ServerResponse): number[] {
  return ['drain', 'close', 'error'].map((event) => response.listenerCount(event));
}

test('a response that was full a hundred times has as many listeners as before', async () => {
  const { response, read } = await slowReader();
  const sink = new EventSink(response);
  response.flushHeaders();
  const before = listeners(response);
  let full = 0;
  const first = sink.write(LINE.subarray(0, 1));
  await first;
  setImmediate(read);
  for (let i = 0; i < 100; i++) {
    const written = sink.write(LINE);
    if (sink.behind) full++;
    await written;
  }
  expect(full).toBeGreaterThan(20);
  expect(listeners(response)).toEqual(before);
  response.end();
});

test('a client that leaves ends the wait, and no listener stays', async () => {
  const { response, leave } = await slowReader();
  const sink = new EventSink(response);
  const before = listeners(response);
  let waiting: Promise<void> | undefined;
  while (!sink.behind) waiting = sink.write(LINE);
  leave();
  await waiting;
  expect(listeners(response)).toEqual(before);
});
