/** HTTP/2 on the port of the API: what a client of it can do, and what it must not be able to do. */

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
} from 'node:http2';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { API, type Daemon, startDaemon } from '../support/daemon.ts';
import { ETCD_MISSING } from '../support/etcd.ts';
import { frame, PREFACE, requestBlock } from '../support/http2-frames.ts';
import type { Replica } from '../support/replica.ts';
import { type ReplicaSet, startReplicas } from '../support/replicas.ts';

const TEAMS = `${API}/teams`;

let daemon: Daemon;

beforeAll(async () => {
  daemon = await startDaemon();
});
afterAll(async () => {
  await daemon.stop();
});

test('git ends after a push whose options are refused', async () => {
  const folder = await daemon.clone();
  await daemon.git(['commit', '-q', '--allow-empty', '-m', 'More to send'], folder);
  const options = Array(20).fill(`--push-option=${'o'.repeat(60_000)}`);
  // It depends on the moment of the answer.
  for (let round = 0; round < 10; round++) {
    const { code, stderr } = await daemon.git(['push', ...options, 'origin', 'HEAD:x'], folder);
    expect(code).toBe(1);
    expect(stderr).toContain('lists of refs and options of this push are larger than 1 MiB');
  }
});

function caOf({ dataDir }: Daemon): string {
  return readFileSync(join(dataDir, 'tls/ca.crt'), 'utf8');
}

function open(of = daemon): ClientHttp2Session {
  const session = connect(of.url, { ca: caOf(of), settings: { enablePush: false } });
  session.on('error', () => undefined);
  onTestFinished(() => session.destroy());
  return session;
}

interface Answer {
  readonly headers: IncomingHttpHeaders;
  readonly code: number;
  readonly text: string;
}

function ask(
  session: ClientHttp2Session,
  path: string,
  more: Record<string, string | string[]> = {},
  of = daemon,
): ClientHttp2Stream {
  const authorization = `Bearer ${of.token}`;
  const stream = session.request({ ':path': path, authorization, ...more }, { endStream: false });
  stream.on('error', () => undefined);
  return stream;
}

async function answerOf(stream: ClientHttp2Stream): Promise<Answer> {
  let text = '';
  const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders];
  for await (const part of stream.setEncoding('utf8')) text += part;
  return { headers, code: Number(headers[':status']), text };
}

async function call(
  session: ClientHttp2Session,
  path: string,
  { body, ...more }: Record<string, string> = {},
): Promise<Answer> {
  const stream = ask(session, path, more);
  stream.end(body);
  return await answerOf(stream);
}

const json = { 'content-type': 'application/json' };

function team(name: string, more = {}): string {
  const apiVersion = 'management.gitplane.dev/v1';
  return JSON.stringify({ apiVersion, kind: 'Team', metadata: { name }, ...more });
}

describe('HTTP/2', () => {
  test.each([
    [['h2', 'http/1.1'], 'h2'],
    [['http/1.1', 'h2'], 'h2'],
    [['http/1.1'], 'http/1.1'],
    [undefined, false],
  ])('is chosen by ALPN: a client with %j gets %s', async (ALPNProtocols, chosen) => {
    const socket = connectTls({
      port: daemon.port,
      host: '127.0.0.1',
      ca: caOf(daemon),
      ...(ALPNProtocols && { ALPNProtocols }),
    });
    onTestFinished(() => void socket.destroy());
    await once(socket, 'secureConnect');
    expect(socket.alpnProtocol).toBe(chosen);
  });

  test('answers as HTTP/1.1 does, header by header and byte by byte', async () => {
    const session = open();
    for (const path of [
      TEAMS,
      `${TEAMS}/payments`,
      '/readyz',
      `${TEAMS}/none`,
      '/nowhere',
      '/oidc/x',
    ]) {
      const { headers, text, code } = await call(session, path);
      const other = await daemon.call('GET', path);
      expect({ code, text }).toEqual({ code: other.code, text: other.text });
      const shown = (all: object): object => {
        const varies = ['audit-id', 'date', 'connection', 'keep-alive', ':status', 'set-cookie'];
        return Object.fromEntries(Object.entries(all).filter(([name]) => !varies.includes(name)));
      };
      expect(shown(headers)).toEqual(shown(other.headers));
    }
  });

  test('takes writes with and without an announced length, and shows their warnings', async () => {
    const session = open();
    const made = team('made-by-h2', { spec: { unknownField: 1, anotherOne: 2 } });
    const written = await call(session, `${TEAMS}?fieldValidation=Warn`, {
      ':method': 'POST',
      ...json,
      'content-length': String(Buffer.byteLength(made)),
      body: made,
    });
    expect(written.code, written.text).toBe(201);
    const warnings = String(written.headers['warning']);
    expect(warnings).toContain('spec.unknownField');
    expect(warnings).toContain('spec.anotherOne');
    const patched = await call(session, `${TEAMS}/made-by-h2`, {
      ':method': 'PATCH',
      'content-type': 'application/merge-patch+json',
      body: '{"spec":{"displayName":"Streamed"}}',
    });
    expect(patched.code, patched.text).toBe(200);
    const removed = await call(session, `${TEAMS}/made-by-h2`, { ':method': 'DELETE' });
    expect(removed.code).toBe(200);
  });

  test.each([true, false])(
    'refuses a body of 4 MiB with 413, its length announced: %s',
    async (isAnnounced) => {
      const session = open();
      const body = Buffer.alloc(4 * 1024 * 1024, ' ');
      const length: Record<string, string> = isAnnounced
        ? { 'content-length': String(body.length) }
        : {};
      const stream = ask(session, TEAMS, { ':method': 'POST', ...json, ...length });
      stream.end(body);
      const { code, text } = await answerOf(stream);
      expect(code).toBe(413);
      expect(JSON.parse(text)).toMatchObject({ kind: 'Status' });
      const next = open();
      expect((await call(next, '/readyz')).code).toBe(200);
    },
  );

  test('has no rights of another request of its connection', async () => {
    const session = open();
    for (const authorization of ['', 'Bearer wrong', `Bearer ${daemon.token}`, '']) {
      const expected = authorization.endsWith(daemon.token) ? 200 : 401;
      expect((await call(session, `${TEAMS}/payments`, { authorization })).code).toBe(expected);
    }
  });

  test('takes the authority for the host, and ignores Host', async () => {
    const session = open();
    const { text } = await call(session, '/oidc/.well-known/openid-configuration', {
      host: 'evil.example.com',
    });
    expect(text).not.toContain('evil.example.com');
  });

  test('carries 250 watches on one connection, each with the event, and makes one more wait', async () => {
    const session = open();
    const watches = Array.from({ length: 250 }, () => {
      const stream = ask(session, `${TEAMS}?watch=1&resourceVersion=0&labelSelector=on=h2`);
      stream.end();
      let text = '';
      stream.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      return { stream, began: once(stream, 'response'), text: () => text };
    });
    await Promise.all(watches.map(({ began }) => began));
    const late = call(session, '/readyz').then(({ code }) => code);
    const body = team('watched-by-h2', {
      metadata: { name: 'watched-by-h2', labels: { on: 'h2' } },
    });
    expect((await daemon.call('POST', TEAMS, { body, type: 'application/json' })).code).toBe(201);
    await vi.waitFor(() => {
      for (const { text } of watches) expect(text()).toContain('"watched-by-h2"');
    });
    const waiting = await Promise.race([late, Promise.resolve('waits')]);
    expect(waiting).toBe('waits');
    watches[0]?.stream.close(constants.NGHTTP2_CANCEL);
    expect(await late).toBe(200);
  });

  test('sends lists beyond the window of its client to several readers at once', async () => {
    const session = open();
    const path = '/kubernetes/management/openapi/v2';
    const texts = await Promise.all(Array.from({ length: 20 }, () => call(session, path)));
    const [first] = texts;
    expect(first?.text.length).toBeGreaterThan(200_000);
    for (const { code, text } of texts) {
      expect(code).toBe(200);
      expect(text.length).toBe(first?.text.length);
    }
  });

  test('clones and pushes', async () => {
    const folder = await daemon.clone();
    const at = ['-c', 'http.version=HTTP/2'];
    expect((await daemon.git([...at, 'commit', '--allow-empty', '-m', 'by h2'], folder)).code).toBe(
      0,
    );
    const pushed = await daemon.git([...at, '-c', 'http.postBuffer=1024', 'push'], folder);
    expect(pushed.code, pushed.stderr).toBe(0);
  });
});

const HEADER_BLOCK = requestBlock('GET', '/readyz');

const MOST_FRAMES = 20_000;

describe('a hostile client of HTTP/2', () => {
  /** Sends so many frames, or until the server ends the connection. */
  async function attack(frames: (stream: number) => Buffer): Promise<{ over: Promise<void> }> {
    const socket = connectTls({
      port: daemon.port,
      host: '127.0.0.1',
      ca: caOf(daemon),
      ALPNProtocols: ['h2'],
    });
    let isOver = false;
    const over = new Promise<void>((resolve) => {
      const done = (): void => {
        isOver = true;
        socket.destroy();
        resolve();
      };
      socket.on('error', done).on('end', done).on('close', done).resume();
    });
    onTestFinished(() => void socket.destroy());
    await once(socket, 'secureConnect');
    socket.write(Buffer.concat([PREFACE, frame(4)]));
    let sent = 0;
    while (!isOver && sent < MOST_FRAMES) {
      const some = Array.from({ length: 50 }, () => frames(1 + 2 * sent++));
      if (!socket.write(Buffer.concat(some))) await Promise.race([once(socket, 'drain'), over]);
      await new Promise(setImmediate);
    }
    return { over };
  }

  test.each<[string, (stream: number) => Buffer]>([
    [
      'that begins requests and takes them back (CVE-2023-44487)',
      (stream) =>
        Buffer.concat([
          frame(1, 5, stream, HEADER_BLOCK),
          frame(3, 0, stream, Buffer.from([0, 0, 0, 8])),
        ]),
    ],
    [
      'that makes the server take them back (CVE-2025-8671)',
      (stream) =>
        // A window of 0 more is an error of the stream.
        Buffer.concat([frame(1, 5, stream, HEADER_BLOCK), frame(8, 0, stream, Buffer.alloc(4))]),
    ],
    [
      'that never ends its headers (CVE-2024-27983)',
      (stream) =>
        stream === 1
          ? frame(1, 1, 1, HEADER_BLOCK)
          : frame(9, 0, 1, Buffer.concat([Buffer.from([0x40, 1, 0x78, 1]), Buffer.from('y')])),
    ],
    ['that sends only settings (CVE-2019-9515)', () => frame(4, 0, 0, Buffer.alloc(0))],
    ['that sends only pings (CVE-2019-9512)', () => frame(6, 0, 0, Buffer.alloc(8))],
  ])('%s loses its connection, and no other client does', async (what, frames) => {
    const other = open();
    const watch = ask(other, `${TEAMS}?watch=1`);
    watch.end();
    await once(watch, 'response');
    const { over } = await attack(frames);
    // Pings and settings are answered as they are read: a client that reads its answers harms nobody.
    if (!what.includes('only')) await over;
    expect(watch.closed).toBe(false);
    expect((await call(other, '/readyz')).code).toBe(200);
    expect((await daemon.call('GET', '/readyz')).code).toBe(200);
  });

  test.each([
    ['a header of 80 KiB', { 'x-large': 'x'.repeat(80 * 1024) }],
    ['200 headers', Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`x-${i}`, 'y']))],
  ])('gets no answer to a request with %s, and the next one is answered', async (_what, more) => {
    const session = open();
    const refused = ask(session, '/readyz', more);
    refused.end();
    const code = await Promise.race([
      once(refused, 'response').then(
        ([headers]) => headers[':status'] as number,
        () => 0,
      ),
      once(session, 'close').then(() => 0),
    ]);
    expect([0, 431]).toContain(code);
    expect((await call(open(), '/readyz')).code).toBe(200);
  });
});

describe('a stop', () => {
  test('ends watches of HTTP/2 with GOAWAY, and exits with 0', async () => {
    const own = await startDaemon();
    const session = open(own);
    const goaway = once(session, 'goaway');
    const watch = ask(session, `${TEAMS}?watch=1`, {}, own);
    watch.end();
    await once(watch, 'response');
    watch.resume();
    const ended = once(watch, 'end');
    expect(await own.stop()).toBe(0);
    await ended;
    await goaway;
  });
});

const replicated =
  ETCD_MISSING === undefined ? 'a follower' : `a follower (SKIPPED: ${ETCD_MISSING})`;

describe.skipIf(ETCD_MISSING !== undefined)(replicated, () => {
  let set: ReplicaSet;
  afterAll(async () => {
    await set?.stop();
  });

  test('hands writes of HTTP/2 on to the leader, and shows them in its watches', async () => {
    set = await startReplicas({ replicas: 2, members: 1 });
    const leader = await set.elected();
    const { daemon: follower } = set.replicas.find((one) => one !== leader) as Replica;
    const session = open(follower);
    const authorization = `Bearer ${set.token}`;
    const watch = ask(session, `${TEAMS}?watch=1`, { authorization });
    watch.end();
    let seen = '';
    watch.setEncoding('utf8').on('data', (part: string) => {
      seen += part;
    });
    const all = { authorization, ':method': 'POST', ...json };
    for (const [name, length] of [
      ['announced', true],
      ['streamed', false],
    ] as const) {
      const body = team(name);
      const announced = length ? { 'content-length': String(body.length) } : {};
      const { code, text, headers } = await call(session, TEAMS, { ...all, ...announced, body });
      expect(code, text).toBe(201);
      expect(headers).not.toHaveProperty('connection');
      await vi.waitFor(() => expect(seen).toContain(`"${name}"`));
    }
    const large = await call(session, TEAMS, { ...all, body: ' '.repeat(4 * 1024 * 1024) });
    expect(large.code).toBe(413);
  });
});
