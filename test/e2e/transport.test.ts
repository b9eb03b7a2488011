/** What a stranger meets before anything is asked: TLS, limits, headers of every answer. */
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { connect, createServer, type SecureVersion, type Server } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { API, type Daemon, startDaemon } from '../support/daemon.ts';

let daemon: Daemon;
let ca: string;

beforeAll(async () => {
  daemon = await startDaemon();
  ca = readFileSync(join(daemon.dataDir, 'tls/ca.crt'), 'utf8');
});
afterAll(async () => {
  await daemon.stop();
});

/** The protocol that was agreed on, or the error. */
function handshake(port: number, version: SecureVersion, ciphers: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({
      port,
      host: '127.0.0.1',
      minVersion: version,
      maxVersion: version,
      ciphers: `${ciphers}:@SECLEVEL=0`,
      rejectUnauthorized: false,
    });
    socket.on('secureConnect', () => {
      resolve(socket.getProtocol() ?? '');
      socket.destroy();
    });
    socket.on('error', (error) => resolve(`refused: ${error.message}`));
  });
}

describe('TLS', () => {
  let permissive: Server;
  beforeAll(async () => {
    const read = (name: string): string => readFileSync(join(daemon.dataDir, 'tls', name), 'utf8');
    const [cert, key] = [read('server.crt'), read('server.key')];
    permissive = createServer({ cert, key, minVersion: 'TLSv1', ciphers: 'ALL:@SECLEVEL=0' });
    await new Promise<void>((resolve) => permissive.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => void permissive.close());

  test.each<[SecureVersion, string, boolean]>([
    ['TLSv1.1', 'ALL', false],
    ['TLSv1.2', 'ECDHE-ECDSA-AES128-SHA', false],
    ['TLSv1.2', 'ECDHE-ECDSA-AES128-GCM-SHA256', true],
    ['TLSv1.3', 'ALL', true],
  ])('%s with %s: %s', async (version, ciphers, accepted) => {
    const { port } = permissive.address() as { port: number };
    // Else the refusal would be that of the client.
    expect(await handshake(port, version, ciphers)).toBe(version);
    const agreed = await handshake(daemon.port, version, ciphers);
    if (accepted) expect(agreed).toBe(version);
    else expect(agreed).toMatch(/^refused/);
  });
});

describe('every answer', () => {
  test.each([
    ['a list', `${API}/teams`, undefined, 200],
    ['a health check', '/readyz', null, 200],
    ['a refusal', `${API}/teams`, null, 401],
    ['a watch', `${API}/teams?watch=1&timeoutSeconds=1`, undefined, 200],
    ['nothing', '/nowhere', undefined, 404],
    ['git', '/git/platform.git/info/refs?service=git-upload-pack', null, 401],
  ])(
    'of %s is nothing for a browser to run, and nothing that another site may read',
    async (_what, path, token, code) => {
      const options = token === undefined ? {} : { token };
      const answer = await daemon.call('GET', path, {
        ...options,
        headers: { origin: 'https://evil.example.com' },
      });

      expect(answer.code, answer.text).toBe(code);
      expect(answer.headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'content-security-policy': expect.stringContaining("default-src 'none'"),
      });
      expect(
        Object.keys(answer.headers).filter((name) => name.startsWith('access-control')),
      ).toEqual([]);
    },
  );
});

function send(headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(`${daemon.url}${API}/teams`, { ca, headers, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    // The rest of what is refused has nobody to read it.
    sent.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ECONNRESET' ? resolve(431) : reject(error),
    );
    sent.end();
  });
}

test('a megabyte of headers is refused before anything is looked at', async () => {
  expect(await send({ authorization: `Bearer ${'x'.repeat(1_000_000)}` })).toBe(431);
  expect((await daemon.call('GET', '/readyz', { token: null })).code).toBe(200);
});

test('who fails to sign in too often has to wait; a key that works does not', async () => {
  const codes: number[] = [];
  for (let i = 0; i < 25; i++) {
    codes.push((await daemon.call('GET', `${API}/teams`, { token: `guess-${i}` })).code);
  }
  expect(codes.slice(0, 15)).toEqual(Array(15).fill(401));
  expect(codes.slice(-2)).toEqual([429, 429]);
  const refused = await daemon.call('GET', `${API}/teams`, { token: 'guess' });
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  expect(refused.json()).toMatchObject({ reason: 'TooManyRequests', code: 429 });
  expect((await daemon.call('GET', `${API}/teams`)).code).toBe(200);
});
