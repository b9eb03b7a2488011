/** Watches of clients that read slowly, over a real socket. */
import { createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
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

async function answered(
  write: (response: ServerResponse) => void,
  version: '1.0' | '1.1' = '1.1',
): Promise<string> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    write(response);
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write(`GET / HTTP/${version}\r\nhost: a\r\nconnection: close\r\n\r\n`);
  const text = (await socket.toArray()).join('');
  return text.slice(text.indexOf('\r\n\r\n') + 4);
}

describe('the lines of two watches', () => {
  const shared = Buffer.from('{"type":"ADDED"}\n');
  const write = (response: ServerResponse): void => {
    const sink = new EventSink(response);
    void sink.write(shared);
    void sink.write(Buffer.from('{}\n'));
    setImmediate(() => {
      void sink.write(shared);
      response.end();
    });
  };
  const lines = '{"type":"ADDED"}\n{}\n{"type":"ADDED"}\n';

  test('are chunks of HTTP/1.1, the same for a line that both share', async () => {
    const chunks = '11\r\n{"type":"ADDED"}\n\r\n3\r\n{}\n\r\n11\r\n{"type":"ADDED"}\n\r\n0\r\n\r\n';

    expect(await Promise.all([answered(write), answered(write)])).toEqual([chunks, chunks]);
  });

  test('are bytes in HTTP/1.0', async () => {
    expect(await answered(write, '1.0')).toBe(lines);
  });
});

test('lines of one tick wait for its end, and leave together', async () => {
  const held: number[] = [];
  await answered((response) => {
    const { socket } = response;
    const sink = new EventSink(response);
    void sink.write(Buffer.alloc(10, 'x'));
    void sink.write(Buffer.alloc(20, 'x'));
    held.push(socket?.writableCorked ?? 0, socket?.writableLength ?? 0);
    setImmediate(() => {
      held.push(socket?.writableCorked ?? 0);
      response.end();
    });
  });

  // Two lines and their chunk sizes.
  expect(held).toEqual([1, 10 + 5 + 20 + 6, 0]);
});

test('a client of HTTP/1.1 that leaves while lines wait ends the wait', async () => {
  const { response, leave } = await slowReader();
  response.flushHeaders();
  const sink = new EventSink(response);
  const before = ['drain', 'close', 'error'].map((event) => response.socket?.listenerCount(event));
  const { socket } = response;
  let waiting: Promise<void> | undefined;
  while (!sink.behind) waiting = sink.write(LINE);
  leave();
  await waiting;

  expect(sink.behind).toBe(false);
  const after = ['drain', 'close', 'error'].map((event) => socket?.listenerCount(event));
  for (const [at, count] of after.entries()) expect(count).toBeLessThanOrEqual(before[at] ?? 0);
});
