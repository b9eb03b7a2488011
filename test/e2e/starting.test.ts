/** A daemon answers from the beginning of its start, before it has read any history. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { request as plainRequest } from 'node:http';
import { connect } from 'node:http2';
import { request } from 'node:https';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { API, findKubectl, run, scratchDir } from '../support/daemon.ts';
import { freePorts } from '../support/machine.ts';
import { elsewhere, serveGit } from '../support/remote.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

const MAIN = join(import.meta.dirname, '../../dist/main.js');
const ROOT = '/kubernetes/management';

interface Starting {
  readonly child: ChildProcess;
  readonly port: number;
  readonly plainPort: number;
  readonly dataDir: string;
  readonly proxy: TcpProxy;
  output(): string;
  /** Over HTTPS, with the certificate of the data directory verified. */
  get(path: string, method?: string): Promise<Reply>;
}

interface Reply {
  readonly code: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

/** A daemon whose remote repository does not answer until `proxy.heal()`. */
async function starting(): Promise<Starting> {
  const remote = await serveGit({ gitDir: elsewhere().gitDir });
  const { port: remotePort, pathname } = new URL(remote.url);
  const proxy = await startTcpProxy(`127.0.0.1:${remotePort}`);
  onTestFinished(() => proxy.close());
  proxy.blackhole();
  const [port = 0, plainPort = 0] = await freePorts(2);
  const dataDir = join(scratchDir(), 'data');
  const args = ['serve', '--data-dir', dataDir, '--repo', `http://${proxy.address}${pathname}`];
  const addresses = ['--listen', `127.0.0.1:${port}`, '--listen-http', `127.0.0.1:${plainPort}`];
  const child = spawn(process.execPath, [MAIN, ...args, ...addresses], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk;
    });
  }
  const ca = (): string => readFileSync(join(dataDir, 'tls/ca.crt'), 'utf8');
  const get = (path: string, method = 'GET'): Promise<Reply> =>
    reply(
      request({ host: '127.0.0.1', port, path, method, ca: ca(), agent: false }).end(
        method === 'GET' ? undefined : '{}',
      ),
    );
  await vi.waitFor(async () => expect((await get('/livez')).code, output).toBe(200), {
    interval: 5,
  });
  return { child, port, plainPort, dataDir, proxy, output: () => output, get };
}

function reply(sent: ReturnType<typeof request>): Promise<Reply> {
  return new Promise((resolve, reject) => {
    sent.on('error', reject);
    sent.on('response', (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => {
        text += chunk;
      });
      response.on('error', reject);
      response.on('end', () =>
        resolve({ code: response.statusCode ?? 0, text, headers: response.headers }),
      );
    });
  });
}

describe('a daemon that reads the history', () => {
  test('is live and not ready, answers other requests with a Status, and serves on the same port later', async () => {
    const daemon = await starting();
    await vi.waitFor(async () => {
      expect((await daemon.get('/readyz')).text).toContain('fetching the repository');
    });
    for (const path of ['/livez', '/livez/ping', `${ROOT}/livez`]) {
      expect(await daemon.get(path)).toMatchObject({ code: 200, text: 'ok' });
    }
    for (const path of ['/readyz', '/healthz', '/readyz/start', `${ROOT}/readyz`]) {
      const { code, text, headers } = await daemon.get(path);
      expect([code, headers['retry-after']]).toEqual([503, '1']);
      expect(text).toContain('fetching the repository');
    }
    for (const [method, path] of [
      ['GET', `${API}/teams`],
      ['POST', `${API}/teams`],
      ['GET', '/git/platform.git/info/refs?service=git-upload-pack'],
      ['GET', '/metrics'],
      ['GET', '/'],
    ] as const) {
      const { code, text, headers } = await daemon.get(path, method);
      expect([code, headers['retry-after']]).toEqual([503, '1']);
      expect(JSON.parse(text)).toMatchObject({
        kind: 'Status',
        code: 503,
        reason: 'ServiceUnavailable',
        message: expect.stringContaining('The daemon is starting: fetching the repository'),
      });
    }
    expect(daemon.output()).not.toContain('Try next');
    daemon.proxy.heal();
    await vi.waitFor(async () => expect((await daemon.get('/readyz')).code).toBe(200));
    expect((await daemon.get(`${API}/teams`)).code).toBe(401);
    await vi.waitFor(() => expect(daemon.output()).toContain('Try next'));
    const ended = once(daemon.child, 'exit');
    daemon.child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });

  test('a connection of HTTP/2 and one of plain HTTP get both answers', async () => {
    const { port, plainPort, dataDir, proxy, get } = await starting();
    const ca = readFileSync(join(dataDir, 'tls/ca.crt'));
    const session = connect(`https://127.0.0.1:${port}`, { ca });
    onTestFinished(() => session.destroy());
    const ask = async (): Promise<number> => {
      const stream = session.request({ ':path': '/readyz' });
      const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
      stream.resume();
      return Number(headers[':status']);
    };
    const plain = async (): Promise<number> => {
      const sent = plainRequest({ host: '127.0.0.1', port: plainPort, path: '/readyz' });
      return (await reply(sent.end() as never)).code;
    };
    expect([await ask(), await plain()]).toEqual([503, 503]);
    proxy.heal();
    await vi.waitFor(async () => expect((await get('/readyz')).code).toBe(200));
    await vi.waitFor(async () => expect([await ask(), await plain()]).toEqual([200, 200]));
  });

  test('SIGTERM ends it with 0', async () => {
    const { child } = await starting();
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });

  test.skipIf(findKubectl('1.32') === undefined)('kubectl waits until it serves', async () => {
    const { dataDir, port, proxy } = await starting();
    const program = findKubectl('1.32') ?? '';
    const access = ['--server', `https://127.0.0.1:${port}${ROOT}`, '--token', 'none'];
    const ca = ['--certificate-authority', join(dataDir, 'tls/ca.crt')];
    const ask = () => run(program, [...access, ...ca, 'get', '--raw', `${ROOT}/readyz`]);
    const asked = ask();
    await vi.waitFor(() => expect(existsSync(join(dataDir, 'repo.git'))).toBe(true));
    proxy.heal();
    let answer = await asked;
    // kubectl asks ten times in ten seconds, and waits ten for a handshake; a busy machine takes longer.
    while (/503|ServiceUnavailable|starting|timeout/i.test(answer.stderr)) answer = await ask();
    expect(answer, answer.stderr).toMatchObject({ stdout: 'ok' });
  });
});

describe('a replica that cannot reach etcd', () => {
  test('answers, says what it waits for, and stops', async () => {
    const [port = 0, etcd = 0] = await freePorts(2);
    const folder = scratchDir();
    const stateKey = join(folder, 'state.key');
    writeFileSync(stateKey, '5a'.repeat(32), { mode: 0o600 });
    const args = ['serve', '--data-dir', join(folder, 'data'), '--listen', `127.0.0.1:${port}`];
    const replica = ['--state', `etcd://127.0.0.1:${etcd}`, '--state-key', stateKey];
    const peers = ['--listen-peer', '127.0.0.1:0', '--advertise-peer', '127.0.0.1:1'];
    const child = spawn(process.execPath, [MAIN, ...args, ...replica, ...peers], {
      stdio: 'ignore',
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    // Nobody trusts its certificate before it has joined.
    const get = (path: string): Promise<Reply> =>
      reply(
        request({ host: '127.0.0.1', port, path, rejectUnauthorized: false, agent: false }).end(),
      );
    await expect.poll(async () => (await get('/livez').catch(() => undefined))?.code).toBe(200);
    const ready = await get('/readyz');
    expect([ready.code, ready.text]).toEqual([503, expect.stringContaining('through etcd')]);
    expect((await get(`${ROOT}/api`)).code).toBe(503);
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
  });
});
