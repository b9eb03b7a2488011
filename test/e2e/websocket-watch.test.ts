/** Watches over WebSockets: the events of a stream, one text frame each, for who may watch. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { API, type Daemon, startDaemon } from '../support/daemon.ts';

const TEAMS = `${API}/teams?watch=1`;
const BEARER = 'base64url.bearer.authorization.k8s.io.';

let daemon: Daemon;
beforeAll(async () => {
  daemon = await startDaemon();
});
afterAll(async () => {
  await daemon.stop();
});

interface Opening {
  readonly headers?: Readonly<Record<string, string>>;
  readonly protocols?: readonly string[];
}

interface Watched {
  readonly socket: WebSocket;
  readonly events: { type: string; object: { metadata: { name: string } } }[];
  /** True for each frame of bytes. */
  readonly binary: boolean[];
}

/** Resolves with the watch, or with the HTTP status that was answered instead. */
function open(
  path: string,
  { headers = {}, protocols = [] }: Opening = {},
): Promise<Watched | number> {
  const ca = readFileSync(join(daemon.dataDir, 'tls/ca.crt'), 'utf8');
  const url = `${daemon.url.replace(/^http/, 'ws')}${path}`;
  const socket = new WebSocket(url, [...protocols], { headers, ca });
  onTestFinished(() => socket.terminate());
  const watched: Watched = { socket, events: [], binary: [] };
  socket.on('message', (data, isBinary) => {
    watched.binary.push(isBinary);
    watched.events.push(JSON.parse(String(data)));
  });
  return new Promise((resolve, reject) => {
    socket.once('open', () => resolve(watched));
    socket.once('unexpected-response', (_request, { statusCode = 0 }) => resolve(statusCode));
    socket.once('error', reject);
  });
}

async function watch(path: string, opening?: Opening): Promise<Watched> {
  const opened = await open(path, opening);
  if (typeof opened === 'number') throw new Error(`The handshake was answered with ${opened}`);
  return opened;
}

const withKey = (): Opening => ({ headers: { authorization: `Bearer ${daemon.token}` } });
const asProtocol = (): string => BEARER + Buffer.from(daemon.token).toString('base64url');

test('a watch sends each event as a text frame', async () => {
  const { socket, events, binary } = await watch(TEAMS, withKey());
  await daemon.call('POST', `${API}/teams`, { body: { metadata: { name: 'framed' }, spec: {} } });
  await expect.poll(() => events.map(({ object }) => object.metadata.name)).toContain('framed');
  await daemon.call('DELETE', `${API}/teams/framed`);
  await expect.poll(() => events.at(-1)?.type).toBe('DELETED');
  expect(events[0]?.type).toBe('ADDED');
  expect(new Set(binary)).toEqual(new Set([false]));
  // Messages of a client are not read, and an answer to a ping is.
  socket.send('hello');
  const pong = new Promise((resolve) => socket.once('pong', resolve));
  socket.ping();
  await pong;
});

test('a watch that begins in the past sends the later events', async () => {
  const before = (await daemon.call('GET', `${API}/teams?limit=1`)).json().metadata;
  await daemon.call('POST', `${API}/teams`, { body: { metadata: { name: 'since' }, spec: {} } });
  const { events } = await watch(`${TEAMS}&resourceVersion=${before.resourceVersion}`, withKey());
  await expect.poll(() => events.map(({ object }) => object.metadata.name)).toEqual(['since']);
});

test('a watch ends after its timeout with a regular close', async () => {
  const { socket } = await watch(`${TEAMS}&timeoutSeconds=1`, withKey());
  const code = await new Promise((resolve) => socket.once('close', resolve));
  expect(code).toBe(1005);
});

test('a token may come as a protocol, as browsers have to send it', async () => {
  const { socket } = await watch(TEAMS, { protocols: [asProtocol(), 'v4.channel.k8s.io'] });
  expect(socket.protocol).toBe('v4.channel.k8s.io');
});

describe('a handshake', () => {
  const cookie = (): string => `__Host-session=${daemon.token}`;

  test.each<[string, number, string, () => Opening]>([
    ['without a key', 401, TEAMS, () => ({})],
    ['with a wrong key', 401, TEAMS, () => ({ headers: { authorization: 'Bearer gpo_wrong' } })],
    [
      'with a wrong key as a protocol',
      401,
      TEAMS,
      () => ({ protocols: [`${BEARER}Z3BvX3dyb25n`, 'x'] }),
    ],
    [
      'with the session of a browser from elsewhere',
      401,
      TEAMS,
      () => ({
        headers: { cookie: cookie(), origin: 'https://elsewhere.example.com' },
      }),
    ],
    ['with a session and no origin', 401, TEAMS, () => ({ headers: { cookie: cookie() } })],
    ['for a kind that does not exist', 404, `${API}/nosuch?watch=1`, withKey],
    ['for a list', 200, `${API}/teams?limit=1`, withKey],
    ['for one object', 200, `${API}/teams/payments`, withKey],
  ])('%s is answered with %i', async (_title, code, path, opening) => {
    expect(await open(path, opening())).toBe(code);
  });

  test('a handshake of a page of the platform takes its session', async () => {
    const origin = daemon.url;
    expect(await open(TEAMS, { headers: { cookie: cookie(), origin } })).not.toBeTypeOf('number');
  });
});

test('a message beyond 4 KiB ends its own watch alone', async () => {
  const [one, other] = await Promise.all([watch(TEAMS, withKey()), watch(TEAMS, withKey())]);
  const closed = new Promise((resolve) => one.socket.once('close', resolve));
  one.socket.send('x'.repeat(5000));
  expect(await closed).toBe(1009);
  expect(other.socket.readyState).toBe(WebSocket.OPEN);
});

test('an invalid frame behind the handshake ends its own watch alone', async () => {
  const ca = readFileSync(join(daemon.dataDir, 'tls/ca.crt'), 'utf8');
  const { hostname: host, port } = new URL(daemon.url);
  const handshake = [
    `GET ${TEAMS} HTTP/1.1`,
    'host: x',
    `authorization: Bearer ${daemon.token}`,
    'connection: upgrade',
    'upgrade: websocket',
    'sec-websocket-version: 13',
    'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
  ].join('\r\n');
  const socket = connect({ host, port: Number(port), ca, ALPNProtocols: ['http/1.1'] });
  const closed = once(socket, 'close');
  // In one write, so that the frame is there before the answer.
  socket.write(Buffer.concat([Buffer.from(`${handshake}\r\n\r\n`), Buffer.alloc(4, 0xff)]));
  await once(socket, 'data');
  socket.resume();
  await closed;
  expect((await daemon.call('GET', '/livez')).code).toBe(200);
});

test('an upgrade to another protocol is ignored', async () => {
  const headers = { connection: 'Upgrade', upgrade: 'h2c' };
  expect((await daemon.call('GET', `${API}/teams`, { headers })).code).toBe(200);
  const post = await daemon.call('POST', `${API}/teams`, { headers, body: {} });
  expect(post.code).toBe(400);
});

test('a daemon that stops waits for no client that keeps its WebSocket', async () => {
  const own = await startDaemon();
  onTestFinished(async () => {
    await own.stop('SIGKILL');
  });
  const ca = readFileSync(join(own.dataDir, 'tls/ca.crt'), 'utf8');
  const url = `${own.url.replace(/^http/, 'ws')}${TEAMS}`;
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${own.token}` }, ca });
  onTestFinished(() => socket.terminate());
  await new Promise((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  socket.pause();
  expect(await own.stop('SIGTERM')).toBe(0);
});
