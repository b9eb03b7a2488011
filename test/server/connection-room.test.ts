/** New connections at the limit: which of the others end for them. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { spareConnection } from '../../src/server/connection-room.ts';
import { createListener } from '../../src/server/listener.ts';

const LIMIT = 8;
const GET = 'GET / HTTP/1.1\r\nhost: x\r\n';
const KEY = 'authorization: Bearer key\r\n';

interface Opened {
  /** Connects from an address of the loopback. */
  open(from?: string): Promise<Socket>;
}

async function listen(): Promise<Opened> {
  const { server } = createListener(undefined, (request, response: ServerResponse) => {
    if (request.headers.authorization !== undefined) spareConnection(request);
    response.end('answered');
  });
  server.maxConnections = LIMIT;
  const sockets: Socket[] = [];
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    open: async (localAddress = '127.0.0.1') => {
      const accepted = once(server, 'connection');
      const socket = connect({ port, host: '127.0.0.1', localAddress });
      sockets.push(socket);
      socket.on('error', () => undefined).resume();
      await Promise.race([accepted, once(socket, 'close')]);
      return socket;
    },
  };
}

async function fill({ open }: Opened, from: string): Promise<Socket[]> {
  const sockets: Socket[] = [];
  while (sockets.length < LIMIT - 1) sockets.push(await open(from));
  return sockets;
}

async function answerOf(socket: Socket, request: string): Promise<string> {
  socket.write(`${request}\r\n`);
  const [text] = await Promise.race([once(socket, 'data'), once(socket, 'close')]);
  return String(text);
}

async function closed(sockets: readonly Socket[], count: number): Promise<number[]> {
  const found = (): number[] => [...sockets.keys()].filter((at) => sockets[at]?.closed);
  await vi.waitFor(() => expect(found()).toHaveLength(count));
  await setImmediate();
  return found();
}

test('a client without a key that holds all connections keeps no other one out', async () => {
  const listener = await listen();
  const held = await fill(listener, '127.0.0.2');
  for (let i = 0; i < 3; i++) {
    const other = await listener.open('127.0.0.3');
    expect(await answerOf(other, GET)).toContain('answered');
  }
  expect(await closed(held, 3)).toEqual([0, 1, 2]);
});

test('the listeners of a process share the room', async () => {
  const [first, second] = [await listen(), await listen()];
  const held = await fill(first, '127.0.0.2');
  for (let i = 0; i < 3; i++) {
    expect(await answerOf(await second.open('127.0.0.3'), GET)).toContain('answered');
  }
  expect(await closed(held, 3)).toEqual([0, 1, 2]);
});

test('a client gets a connection behind the address of one that holds all', async () => {
  const listener = await listen();
  const held = await fill(listener, '127.0.0.2');
  expect(await answerOf(await listener.open('127.0.0.2'), GET)).toContain('answered');
  expect(await closed(held, 1)).toEqual([0]);
});

test('the network with the most connections makes room', async () => {
  const listener = await listen();
  const few = [await listener.open('127.0.0.3'), await listener.open('127.0.0.3')];
  const held: Socket[] = [];
  while (held.length < 10) held.push(await listener.open('127.0.0.2'));
  expect(await closed(held, 5)).toEqual([0, 1, 2, 3, 4]);
  for (const socket of few) expect(await answerOf(socket, GET)).toContain('answered');
});

test('connections with a valid key end for no other one', async () => {
  const listener = await listen();
  const known = [await listener.open(), await listener.open()];
  for (const socket of known) await answerOf(socket, GET + KEY);
  const others: Socket[] = [];
  while (others.length < 20) others.push(await listener.open());
  await closed(others, 15);
  for (const socket of known) expect(await answerOf(socket, GET)).toContain('answered');
});

test('connections with a valid key refuse others once they are all that there is', async () => {
  const listener = await listen();
  const known: Socket[] = [];
  while (known.length < LIMIT - 1) {
    const socket = await listener.open();
    await answerOf(socket, GET + KEY);
    known.push(socket);
  }
  const late = await listener.open();
  await closed([late], 1);
  known.pop()?.destroy();
  await vi.waitFor(async () =>
    expect(await answerOf(await listener.open(), GET)).toContain('answered'),
  );
});
