/** Bodies that are refused before they have arrived: the client gets the answer, then the connection ends. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { deflateSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { API, type Daemon, run, scratchDir, startDaemon } from '../support/daemon.ts';
import { ETCD_MISSING } from '../support/etcd.ts';
import { type ReplicaSet, startReplicas } from '../support/replicas.ts';

const MIB = 1024 * 1024;

interface Server {
  readonly daemon: Daemon;
  readonly token: string;
}

/** A connection that sends what it is told, and reads answers one by one. */
async function connection({ daemon }: Server) {
  const ca = readFileSync(join(daemon.dataDir, 'tls/ca.crt'));
  const socket: TLSSocket = connect({ host: '127.0.0.1', port: daemon.port, ca });
  onTestFinished(() => void socket.destroy());
  let text = '';
  let last = '';
  let ended = false;
  let wake = (): void => {};
  socket.on('data', (part) => {
    text += part;
    wake();
  });
  const errors: Error[] = [];
  socket.on('error', (error) => errors.push(error));
  socket.on('close', () => {
    ended = true;
    wake();
  });
  const until = async (isThere: () => boolean): Promise<void> => {
    while (!isThere() && !ended) {
      await new Promise<void>((done) => {
        wake = done;
      });
    }
  };
  await new Promise((done) => socket.once('secureConnect', done));
  return {
    /** Resolves when the bytes are on their way, or the connection is closed. */
    send: (part: string | Buffer) =>
      new Promise<void>((done) => {
        const settle = (): void => {
          socket.off('close', settle);
          done();
        };
        if (ended) return done();
        socket.once('close', settle);
        socket.write(part, settle);
      }),
    /** Status line of the next answer; undefined: the connection ended without one. */
    async answer(): Promise<string | undefined> {
      await until(() => /^HTTP\/1\.1 [\s\S]*?\r\n\r\n/.test(text));
      const head = /^HTTP\/1\.1 (\d+)[\s\S]*?\r\n\r\n/.exec(text);
      if (head === null) return undefined;
      const length = Number(/content-length: (\d+)/i.exec(head[0])?.[1] ?? 0);
      const total = head[0].length + length;
      await until(() => text.length >= total);
      last = text.slice(head[0].length, total);
      text = text.slice(total);
      return head[1];
    },
    /** Body of the last answer. */
    body: () => last,
    /** Resolves with the errors of the connection when it has ended; a reset is one. */
    async end(): Promise<readonly Error[]> {
      await until(() => false);
      return errors;
    },
  };
}

const head = (method: string, path: string, lines: readonly string[]): string =>
  `${[`${method} ${path} HTTP/1.1`, 'host: 127.0.0.1', ...lines].join('\r\n')}\r\n\r\n`;

const chunk = (bytes: number): string => `${bytes.toString(16)}\r\n${'x'.repeat(bytes)}\r\n`;

async function refuses(server: Server, path: string, way: (typeof WAYS)[number]): Promise<void> {
  const { form, first, rest, code } = way;
  const own = [`authorization: Bearer ${server.token}`, 'content-type: application/json'];
  const { send, answer, end } = await connection(server);
  await send(head('POST', path, [...own, form]) + first);
  expect(await answer()).toBe(code);
  await send(rest);
  expect(await end()).toEqual([]);
}

const CHUNKED = 'transfer-encoding: chunked';
/** `first`: sent before the answer. */
const WAYS = [
  {
    title: 'with 413, with its length',
    code: '413',
    form: `content-length: ${4 * MIB}`,
    first: '',
    rest: 'x'.repeat(4 * MIB),
  },
  {
    title: 'with 413, in chunks',
    code: '413',
    form: CHUNKED,
    first: chunk(3 * MIB + 1),
    rest: `${chunk(MIB)}0\r\n\r\n`,
  },
  {
    title: 'with 400, in too many chunks of one byte',
    code: '400',
    form: CHUNKED,
    first: chunk(1).repeat(20_000),
    rest: '',
  },
];

const ROUTES = {
  'the API': () => `${API}/teams`,
  'the webhook': ({ daemon }: Server) =>
    `/hooks/${readFileSync(join(daemon.dataDir, 'hook.secret'), 'utf8').trim()}`,
};

describe.each(Object.entries(ROUTES))('a body that is too large, sent to %s', (_route, pathOf) => {
  let server: Server;
  beforeAll(async () => {
    // Only a daemon that follows a repository has a webhook.
    const remote = join(scratchDir(), 'platform.git');
    const work = join(scratchDir(), 'work');
    const user = ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.com'];
    for (const args of [
      ['init', '-q', '--bare', '-b', 'main', remote],
      ['clone', '-q', remote, work],
      ['-C', work, ...user, 'commit', '-q', '--allow-empty', '-m', 'The platform'],
      ['-C', work, 'push', '-q', 'origin', 'HEAD:main'],
    ]) {
      const { code, stderr } = await run('git', args);
      expect(code, stderr).toBe(0);
    }
    const daemon = await startDaemon({ seed: undefined, args: ['--repo', remote] });
    server = { daemon, token: daemon.token };
  });
  afterAll(() => server?.daemon.stop());

  test.each(WAYS)('is refused without a reset: $title', async (way) => {
    await refuses(server, pathOf(server), way);
  });

  test('is cut off when it goes on for longer', async () => {
    const { send, answer, end } = await connection(server);
    const lines = [`authorization: Bearer ${server.token}`, `content-length: ${1024 * MIB}`];
    await send(head('POST', pathOf(server), lines));
    expect(await answer()).toBe('413');
    for (let sent = 0; sent < 256; sent += 1) await send('x'.repeat(MIB));
    await end();
  });
});

/** The first 2 MiB of a push of a blob of 4: the daemon starts git after one. */
const PACK = (() => {
  const command = `${'0'.repeat(40)} ${'1'.repeat(40)} refs/heads/main\0 report-status`;
  const line = `${(command.length + 4).toString(16).padStart(4, '0')}${command}0000`;
  // Type and length of the object (gitformat-pack).
  const object = Buffer.from([0xb0, 0x80, 0x80, 0x10]);
  const bytes = deflateSync(Buffer.alloc(4 * MIB), { level: 0 }).subarray(0, 2 * MIB);
  const start = Buffer.from('PACK\0\0\0\x02\0\0\0\x01');
  const whole = Buffer.concat([Buffer.from(line), start, object, bytes]);
  const size = Buffer.from(`${whole.length.toString(16)}\r\n`);
  return Buffer.concat([size, whole, Buffer.from('\r\n')]);
})();

describe('a body in too many chunks of one byte', () => {
  const BYTES = chunk(1).repeat(20_000);
  let daemon: Daemon;
  beforeAll(async () => {
    daemon = await startDaemon();
    const body = { spec: { raw: JSON.stringify({ oidc: { enabled: true } }) } };
    const options = { body, type: 'application/merge-patch+json' };
    expect((await daemon.call('PATCH', `${API}/config/platform`, options)).code).toBe(200);
  });
  afterAll(() => daemon?.stop());

  const git = (service: string): string[] => [
    `authorization: Basic ${Buffer.from(`admin:${daemon.token}`).toString('base64')}`,
    `content-type: application/x-git-${service}-request`,
  ];
  const form = (): string[] => ['content-type: application/x-www-form-urlencoded'];
  test.each([
    ['a push', '/git/platform.git/git-receive-pack', () => git('receive-pack'), ''],
    [
      'a push that git reads',
      '/git/platform.git/git-receive-pack',
      () => git('receive-pack'),
      PACK,
    ],
    ['a fetch', '/git/platform.git/git-upload-pack', () => git('upload-pack'), ''],
    ['a request to the OpenID provider', '/oidc/token', form, ''],
  ])('%s is refused with 400 and the remedy', async (_what, path, own, first) => {
    const { send, answer, body, end } = await connection({ daemon, token: daemon.token });
    await send(head('POST', path, [...own(), CHUNKED]));
    await send(first);
    await send(BYTES);
    expect(await answer()).toBe('400');
    expect(body()).toContain('send it in larger chunks');
    expect(await end()).toEqual([]);
  });
});

const title = `a replica (${ETCD_MISSING === undefined ? 'etcd' : `SKIPPED: ${ETCD_MISSING}`})`;

describe.skipIf(ETCD_MISSING !== undefined)(title, () => {
  let set: ReplicaSet;
  beforeAll(async () => {
    set = await startReplicas({ replicas: 2, members: 1 });
  }, 180_000);
  afterAll(async () => {
    await set?.stop();
  });

  test.each(WAYS)('refuses a body that is too large: $title', async (way) => {
    const leader = await set.elected();
    const follower = set.replicas.find(({ index }) => index !== leader.index);
    if (follower === undefined) throw new Error('no replica follows');
    const server = { daemon: follower.daemon, token: set.token };
    await refuses(server, `${API}/teams`, way);
  });
});
