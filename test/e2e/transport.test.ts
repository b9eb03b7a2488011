/** The transport before any request of the API: TLS, limits, headers of every answer. */
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
  ])('forbids browsers to run %s, and other sites to read it', async (_what, path, token, code) => {
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
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual(
      [],
    );
  });
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

test('a user with too many failures to sign in waits; a valid key does not', async () => {
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

/** A write whose head is sent and whose body never comes; resolves with the code that it gets. */
function unfinishedWrite(): { code: Promise<number>; retryAfter(): string; end(): void } {
  let after = '';
  const headers = {
    authorization: `Bearer ${daemon.token}`,
    'content-type': 'application/json',
    'content-length': String(3 * 1024 * 1024),
  };
  const options = { ca, headers, agent: false, method: 'POST' };
  const sent = request(`${daemon.url}${API}/teams`, options);
  const code = new Promise<number>((resolve) => {
    sent.on('response', (response) => {
      after = String(response.headers['retry-after'] ?? '');
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.on('error', () => resolve(0));
  });
  sent.flushHeaders();
  return { code, retryAfter: () => after, end: () => sent.destroy() };
}

test('more bodies than there is room for are 429 with Retry-After, and room comes back', async () => {
  // 86 of 3 MiB are more than 256 MiB: whichever comes last finds no room.
  const writes = Array.from({ length: 86 }, unfinishedWrite);
  const refused = await Promise.race(
    writes.map(async ({ code, retryAfter }) => ({ code: await code, after: retryAfter() })),
  );
  expect(refused).toEqual({ code: 429, after: '1' });
  expect((await daemon.call('GET', `${API}/teams`)).code).toBe(200);
  for (const { end } of writes) end();
  await expect
    .poll(async () => {
      const body = { metadata: { name: `after-pressure-${Date.now()}` } };
      return (await daemon.call('POST', `${API}/teams`, { body })).code;
    })
    .toBe(201);
});

test('writes that take longer than they may are 504, and may take effect all the same', async () => {
  const names = Array.from({ length: 64 }, (_, i) => `late-${i}`);
  const answers = await Promise.all(
    names.map((name) =>
      daemon.call('POST', `${API}/teams?timeout=1us`, { body: { metadata: { name } } }),
    ),
  );
  const late = answers.filter(({ code }) => code === 504);
  expect(late.length).toBeGreaterThan(0);
  expect(late[0]?.json()).toMatchObject({ kind: 'Status', reason: 'Timeout', code: 504 });
  await expect
    .poll(async () => {
      const { items } = (await daemon.call('GET', `${API}/teams`)).json();
      const there = items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
      return names.filter((name) => !there.includes(name));
    })
    .toEqual([]);
});
