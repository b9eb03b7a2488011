import { EventEmitter, once } from 'node:events';
import { type ClientRequest, createServer, request, type Server } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { type Duplex, PassThrough } from 'node:stream';
import { expect, onTestFinished, test, vi } from 'vitest';
import {
  answerReadIndex,
  NEWEST_HEADERS,
  NEWEST_PROTOCOL,
  ReadIndex,
} from '../../src/replication/read-index.ts';

interface Peer {
  readonly server: Server;
  readonly address: string;
  readonly lines: Set<Duplex>;
}

async function peer(newest?: () => Promise<bigint | undefined>): Promise<Peer> {
  const lines = new Set<Duplex>();
  const server = createServer((_request, response) => void response.writeHead(404).end());
  if (newest !== undefined) {
    server.on('upgrade', ({ headers }, socket) => {
      expect(headers.upgrade).toBe(NEWEST_PROTOCOL);
      lines.add(socket);
      answerReadIndex(socket, newest);
    });
  }
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const line of lines) line.destroy();
    server.close();
  });
  return { server, lines, address: String((server.address() as AddressInfo).port) };
}

/** Patient: a machine that has much else to do is not silent. */
function open(silentMs = 60_000): ReadIndex {
  const line = new ReadIndex({
    silentMs,
    connect: (to) =>
      request({ host: '127.0.0.1', port: Number(to), agent: false, headers: NEWEST_HEADERS }),
  });
  onTestFinished(() => line.close());
  return line;
}

/** Until the connection is there questions may go unanswered. */
async function answered(line: ReadIndex, address: string): Promise<bigint> {
  await expect
    .poll(async () => typeof (await line.ask(address)), { timeout: 20_000, interval: 5 })
    .toBe('bigint');
  return (await line.ask(address)) ?? -1n;
}

test('every question gets the answer that was true when it came', async () => {
  let now = 41n;
  const { address, lines } = await peer(async () => now);
  const line = open();
  expect(await answered(line, address)).toBe(41n);
  now = 2n ** 60n;
  const many = await Promise.all(Array.from({ length: 200 }, () => line.ask(address)));
  expect(new Set(many)).toEqual(new Set([2n ** 60n]));
  expect(lines.size).toBe(1);
});

test('a question is asked while others wait for their answers', async () => {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let questions = 0;
  const { address } = await peer(async () => {
    questions += 1;
    if (questions > 2) await released;
    return 8n;
  });
  // Less than the age of the process, and more than it takes to ask twice.
  const line = open(Math.min(performance.now(), 1000));
  await answered(line, address);
  questions = 2;
  const asked = [line.ask(address), line.ask(address)];
  release();
  expect(await Promise.all(asked)).toEqual([8n, 8n]);
});

test('the connection ends with the line', async () => {
  const { address, lines } = await peer(async () => 1n);
  const line = open();
  await answered(line, address);
  const closed = Promise.all([...lines].map((socket) => once(socket, 'close')));
  line.close();
  expect(await closed).toHaveLength(1);
});

test('a connection that comes about after the end is not left open', async () => {
  const late = Object.assign(new EventEmitter(), { end: () => late, destroy: () => late });
  const line = new ReadIndex({ connect: () => late as unknown as ClientRequest });
  const asked = line.ask('peer');
  line.close();
  const socket = new PassThrough();
  late.emit('upgrade', {}, socket, Buffer.alloc(0));
  expect(socket.destroyed).toBe(true);
  expect(await asked).toBeUndefined();
});

test('answers come in any order and belong to their questions', async () => {
  const waiting: ((revision: bigint) => void)[] = [];
  let isHeld = false;
  const { address } = await peer(() =>
    isHeld ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(0n),
  );
  const line = open();
  await answered(line, address);
  isHeld = true;
  const asked = [line.ask(address), line.ask(address), line.ask(address)];
  await expect.poll(() => waiting.length, { timeout: 20_000, interval: 1 }).toBe(3);
  for (const [at, resolve] of [...waiting.entries()].reverse()) resolve(BigInt(at + 1));
  expect(await Promise.all(asked)).toEqual([1n, 2n, 3n]);
});

test('a replica that does not know reports it, and goes on answering', async () => {
  const told: (bigint | undefined)[] = [undefined, 7n];
  let isFirst = true;
  const { address } = await peer(async () => {
    if (isFirst) return 0n;
    const next = told.shift();
    if (next === undefined) throw new Error('etcd is away');
    return next;
  });
  const line = open();
  await answered(line, address);
  isFirst = false;
  expect(await line.ask(address)).toBeUndefined();
  expect(await line.ask(address)).toBe(7n);
});

test('a peer that falls silent is asked no more until it answers', async () => {
  let waiting: ((revision: bigint) => void)[] = [];
  let questions = 0;
  let isSilent = false;
  const { address } = await peer(() => {
    questions += 1;
    return isSilent ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(1n);
  });
  const line = open(25);
  await answered(line, address);
  isSilent = true;
  const first = line.ask(address);
  await expect.poll(() => waiting.length, { timeout: 20_000, interval: 1 }).toBe(1);
  await new Promise((resolve) => setTimeout(resolve, 50));
  const before = questions;
  expect(await line.ask(address)).toBeUndefined();
  expect(questions).toBe(before);
  isSilent = false;
  for (const resolve of waiting) resolve(5n);
  waiting = [];
  // It may have been given up, on a machine where that took two seconds.
  expect([5n, undefined]).toContain(await first);
  expect(await answered(line, address)).toBe(1n);
});

test('a connection that breaks is made again, one to an unknown host is not waited for', async () => {
  const { address, lines } = await peer(async () => 3n);
  const line = open();
  await answered(line, address);
  for (const socket of lines) socket.destroy();
  expect(await answered(line, address)).toBe(3n);
  const stranger = await peer();
  expect(await line.ask(stranger.address)).toBeUndefined();
  expect(await line.ask('1')).toBeUndefined();
  expect(await answered(line, address)).toBe(3n);
  line.close();
  expect(await line.ask(address)).toBeUndefined();
});

test('a closed read index asks nobody', async () => {
  let connections = 0;
  const line = new ReadIndex({
    connect: () => {
      connections += 1;
      throw new Error('connected');
    },
  });
  line.close();
  expect([await line.ask('1'), connections]).toEqual([undefined, 0]);
});

test('a connection that fails is ended by the side that answers', () => {
  const socket = new PassThrough();
  answerReadIndex(socket, async () => 1n);
  socket.emit('error', new Error('reset'));
  expect(socket.destroyed).toBe(true);
});

test('a connection that the peer does not answer is ended with the read index', async () => {
  const server = createTcpServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const connected = once(server, 'connection');
  const line = open();
  const answer = line.ask(String((server.address() as AddressInfo).port));
  const [socket] = (await connected) as [Socket];
  const closed = once(
    socket.resume().on('error', () => undefined),
    'close',
  );
  line.close();
  expect(await answer).toBeUndefined();
  await closed;
});

test('an answer that comes together with the head of the connection counts', async () => {
  const answer = Buffer.alloc(12);
  answer.writeUInt32BE(1, 0);
  answer.writeBigInt64BE(9n, 4);
  const head = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade'];
  const text = `${head.join('\r\n')}\r\nUpgrade: ${NEWEST_PROTOCOL}\r\n\r\n`;
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.write(Buffer.concat([Buffer.from(text), answer])));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  expect(await open().ask(String((server.address() as AddressInfo).port))).toBe(9n);
});

test('a peer is asked until it has been silent for longer than the limit', async () => {
  let now = 1000;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
  onTestFinished(() => clock.mockRestore());
  const server = createTcpServer((socket) => void socket.on('error', () => undefined));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = String((server.address() as AddressInfo).port);
  const line = open(25);
  const outcome = (asked: Promise<bigint | undefined>) =>
    Promise.race([asked, new Promise((resolve) => setImmediate(resolve, 'waits'))]);

  const first = line.ask(address);
  now += 25;
  const second = line.ask(address);
  expect(await outcome(second)).toBe('waits');
  now += 1;
  expect(await outcome(line.ask(address))).toBeUndefined();
  line.close();
  expect(await Promise.all([first, second])).toEqual([undefined, undefined]);
});

test('a question in two parts is one question', async () => {
  const { address, lines } = await peer(async () => 5n);
  const socket = connect(Number(address), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  const head = [
    'GET / HTTP/1.1',
    'Host: peer',
    'Connection: Upgrade',
    `Upgrade: ${NEWEST_PROTOCOL}`,
  ];
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  await once(socket, 'data');
  const [line] = lines;
  if (line === undefined) throw new Error('The peer has no connection');
  const first = once(line, 'data');
  socket.write(Buffer.from([0, 0]));
  await first;
  socket.write(Buffer.from([1, 2, 0, 0, 1, 3]));

  const answers: Buffer[] = [];
  for await (const bytes of socket) {
    answers.push(bytes as Buffer);
    if (Buffer.concat(answers).length >= 24) break;
  }

  const bytes = Buffer.concat(answers);
  expect([0, 12].map((at) => bytes.readUInt32BE(at))).toEqual([0x102, 0x103]);
  expect([0, 12].map((at) => bytes.readBigInt64BE(at + 4))).toEqual([5n, 5n]);
});
