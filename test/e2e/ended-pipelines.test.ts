/** Requests behind others on a connection that ends: they leave nothing behind, and end nothing else. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect as connectPlain } from 'node:net';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { API, type Daemon, startDaemon } from '../support/daemon.ts';
import { freePort } from '../support/machine.ts';

const WEB_SOCKET = [
  'connection: upgrade',
  'upgrade: websocket',
  'sec-websocket-version: 13',
  'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
];

let daemon: Daemon;
let plainPort: number;
beforeAll(async () => {
  plainPort = await freePort();
  daemon = await startDaemon({ args: ['--listen-http', `127.0.0.1:${plainPort}`] });
});
afterAll(async () => {
  await daemon.stop();
});

function request(line: string, more: readonly string[] = []): string {
  const headers = ['host: x', `authorization: Bearer ${daemon.token}`, ...more];
  return `${[`${line} HTTP/1.1`, ...headers].join('\r\n')}\r\n\r\n`;
}

/** In one write. */
function send(text: string): TLSSocket {
  const ca = readFileSync(join(daemon.dataDir, 'tls/ca.crt'), 'utf8');
  const { hostname: host, port } = new URL(daemon.url);
  const socket = connect({ host, port: Number(port), ca, ALPNProtocols: ['http/1.1'] });
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined);
  socket.write(text);
  return socket;
}

/** Sum of the samples of a metric that match. */
async function measured(sample: RegExp): Promise<number> {
  const { text } = await daemon.call('GET', '/metrics');
  return text
    .split('\n')
    .filter((line) => sample.test(line))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

const watches = () => measured(/^gitplane_watches/);

test('an upgrade behind a request without an answer ends its own connection alone', async () => {
  const socket = send(
    request('GET /livez') + request('GET /version', ['connection: upgrade', 'upgrade: x']),
  );
  const closed = once(socket, 'close');
  socket.resume();
  await closed;
  expect((await daemon.call('GET', '/livez')).code).toBe(200);
});

/** Until the connection ends. */
async function received(socket: TLSSocket): Promise<string> {
  let text = '';
  socket.on('data', (part) => {
    text += part;
  });
  await once(socket, 'close');
  return text;
}

test('requests behind answers that wait are answered, with many records of TLS in one packet', async () => {
  const socket = send('');
  socket.setMaxSendFragment(512);
  const lists = request(`GET ${API}/teams`).repeat(50);
  socket.write(request('GET /metrics') + lists + request('GET /livez', ['connection: close']));
  expect((await received(socket)).match(/HTTP\/1\.1 200 /g)).toHaveLength(52);
});

test('more than 250 answers that wait for another one end their connection, and nothing else', async () => {
  const fine = send(
    request('GET /livez').repeat(250) + request('GET /livez', ['connection: close']),
  );
  expect((await received(fine)).match(/HTTP\/1\.1 200 /g)).toHaveLength(251);
  const socket = send(request(`GET ${API}/teams?watch=1`) + request('GET /livez').repeat(251));
  socket.resume();
  await once(socket, 'close');
  await expect.poll(watches).toBe(0);
  expect((await daemon.call('GET', '/livez')).code).toBe(200);
});

test('bytes that are no request bring no 400 in place of the answer before them', async () => {
  const socket = send(`${request(`GET ${API}/teams`)}\0`);
  expect(await received(socket)).not.toContain('400 Bad Request');
});

test('bytes that are no request bring no 400 in the answer before them', async () => {
  const socket = send(request(`GET ${API}/teams?watch=1`));
  await once(socket, 'data');
  socket.write('\0');
  expect(await received(socket)).not.toContain('400 Bad Request');
});

test('a body whose chunks are broken is answered with 400', async () => {
  const head = request(`POST ${API}/teams`, ['transfer-encoding: chunked']);
  const [answer] = await once(send(`${head}zz\r\n`), 'data');
  expect(String(answer)).toMatch(/^HTTP\/1\.1 400 /);
});

test.each([
  ['writes', () => request(`DELETE ${API}/teams/none`)],
  ['lists', () => request(`GET ${API}/teams`)],
])('%s behind others leave their level when the connection ends', async (level, text) => {
  const socket = send(text().repeat(20));
  await once(socket, 'data');
  socket.destroy();
  await expect.poll(() => measured(new RegExp(`level="${level}",state="held"`))).toBe(0);
});

test('watches behind another one end with the connection', async () => {
  const socket = send(request(`GET ${API}/teams?watch=1`).repeat(3));
  await expect.poll(watches).toBe(3);
  socket.destroy();
  await expect.poll(watches).toBe(0);
});

test('a watch over plain HTTP that asks for another protocol ends when its client is gone', async () => {
  const upgrade = ['connection: upgrade', 'upgrade: h2c'];
  const socket = connectPlain(plainPort, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.write(request(`GET ${API}/teams?watch=1`, upgrade));
  await expect.poll(watches).toBe(1);
  socket.destroy();
  await expect.poll(watches).toBe(0);
});

test('a watch over a WebSocket ends when its client is gone without a close frame', async () => {
  const socket = send(request(`GET ${API}/teams?watch=1`, WEB_SOCKET));
  await expect.poll(watches).toBe(1);
  socket.destroy();
  await expect.poll(watches).toBe(0);
});
