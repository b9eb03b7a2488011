/** The console as the server sends it: redirects, files, policy, the link of the start. */
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Answer, API, type Daemon, startDaemon } from '../support/daemon.ts';

const HTML = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

let daemon: Daemon;
beforeAll(async () => {
  daemon = await startDaemon();
});
afterAll(async () => {
  await daemon?.stop();
});

function get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  return daemon.call('GET', path, { token: null, headers });
}

const session = (): Record<string, string> => ({ cookie: `__Host-session=${daemon.token}` });

function link(): string {
  const [, path = ''] = /https:\/\/[^/]+(\/auth\/link\?code=\S+)/.exec(daemon.output()) ?? [];
  return path;
}

test.each([
  ['/', { accept: HTML }, 302, '/console'],
  ['/?a=b', { accept: HTML }, 302, '/console?a=b'],
  ['/console/', { accept: HTML }, 302, '/console'],
  ['/', { accept: 'application/json' }, 401, undefined],
  ['/', {}, 401, undefined],
  ['/console', { accept: HTML }, 303, '/login?returnTo=%2Fconsole'],
  ['/console/objects/teams', { accept: HTML }, 303, '/login?returnTo=%2Fconsole%2Fobjects%2Fteams'],
  ['/console//evil.example', { accept: HTML }, 303, '/login?returnTo=%2Fconsole%2F%2Fevil.example'],
])('%s with %j is answered with %i', async (path, headers, code, location) => {
  const answer = await get(path, headers);

  expect(answer.code).toBe(code);
  expect(answer.headers['location']).toBe(location);
});

test('the page has a strict policy, and no token', async () => {
  const answer = await get('/console/objects', session());

  expect(answer.code).toBe(200);
  expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', 'x-frame-options': 'DENY' });
  expect(answer.headers['content-security-policy']).toBe(
    "default-src 'none'; style-src 'self'; img-src data: 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  );
  expect(answer.text).not.toContain(daemon.token);
  expect(answer.text).not.toMatch(/<script(?![^>]* src=)/);
  expect(answer.text).not.toMatch(/<style|style=|onclick/);
});

test('files are sent compressed, and are cached for ever', async () => {
  const { text: page } = await get('/console', session());
  const files = [...page.matchAll(/\/console\/assets\/[\w.-]+/g)].map(([path]) => path);
  expect(files).toHaveLength(2);
  for (const path of files) {
    const plain = await get(path);
    expect(plain.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    const wanted: readonly [string, (bytes: Buffer) => Buffer][] = [
      ['gzip', gunzipSync],
      ['br', brotliDecompressSync],
    ];
    for (const [encoding, unpack] of wanted) {
      const answer = await fetchBytes(path, encoding);
      expect(answer.encoding).toBe(encoding);
      expect(unpack(answer.bytes).toString()).toBe(plain.text);
    }
  }
});

async function fetchBytes(
  path: string,
  encoding: string,
): Promise<{ encoding: string | undefined; bytes: Buffer }> {
  const { request } = await import('node:https');
  return await new Promise((resolve, reject) => {
    const headers = { 'accept-encoding': encoding };
    request(`${daemon.url}${path}`, { headers, rejectUnauthorized: false }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () =>
        resolve({ encoding: response.headers['content-encoding'], bytes: Buffer.concat(parts) }),
      );
    })
      .on('error', reject)
      .end();
  });
}

test.each([
  '/console/assets/manifest.json',
  '/console/assets/none.js',
  '/console/assets/..%2f..%2fmain.js',
  '/console/assets/main.tsx',
])('%s is not found', async (path) => {
  expect((await get(path, session())).code).toBe(404);
});

test('the link of the start signs in once', async () => {
  const first = await get(link(), { 'sec-fetch-site': 'none' });
  expect(first.code).toBe(303);
  expect(first.headers['location']).toBe('/console');
  const [cookie = ''] = [first.headers['set-cookie'] ?? []].flat();
  expect(cookie).toMatch(/^__Host-session=[^;]+;.*HttpOnly.*Secure.*SameSite=Lax/);
  const own = { cookie: cookie.split(';')[0] ?? '' };

  const me = await get('/auth/session', own);
  expect(me.json()).toMatchObject({ user: 'admin' });
  expect((await get(`${API}/teams`, own)).code).toBe(200);

  const again = await get(link(), { 'sec-fetch-site': 'none' });
  expect(again.code).toBe(401);
  expect(again.headers['set-cookie']).toBeUndefined();
  expect(daemon.output().replace(link(), '')).not.toContain(link().split('code=')[1]);
});

test.each([['POST'], ['PUT'], ['DELETE']])(
  'a %s with the session needs the proof of its origin',
  async (method) => {
    const { csrfToken } = (await get('/auth/session', session())).json();
    const path = `${API}/teams/storefront`;
    const from = (headers: Record<string, string>): Promise<Answer> =>
      daemon.call(method, path, { token: null, body: {}, headers: { ...session(), ...headers } });
    const same = { 'sec-fetch-site': 'same-origin' };

    expect((await from({})).code).toBe(403);
    expect((await from(same)).code).toBe(403);
    expect((await from({ 'x-csrf-token': csrfToken })).code).toBe(403);
    expect((await from({ 'x-csrf-token': csrfToken, 'sec-fetch-site': 'cross-site' })).code).toBe(
      403,
    );
    expect((await from({ 'x-csrf-token': csrfToken, 'sec-fetch-site': 'same-site' })).code).toBe(
      403,
    );
    expect((await from({ 'x-csrf-token': `${csrfToken}x`, ...same })).code).toBe(403);
    expect((await get(path, session())).code).toBe(200);
  },
);

test('the session opens neither git nor the token endpoints', async () => {
  const same = { ...session(), 'sec-fetch-site': 'same-origin' };
  const { csrfToken } = (await get('/auth/session', session())).json();
  const headers = { ...same, 'x-csrf-token': csrfToken };

  expect((await get('/git/platform.git/info/refs?service=git-upload-pack', headers)).code).toBe(
    401,
  );
  const told = await daemon.call('POST', '/auth/token', { token: null, body: {}, headers });
  expect(told.code).toBe(401);
});

test.each<[string, Record<string, string>, number]>([
  ['another site', { 'sec-fetch-site': 'cross-site' }, 401],
  // Browsers before 2023 do not send the other header.
  ['another origin', { origin: 'https://evil.example' }, 401],
  ['a page without an origin', { origin: 'null' }, 401],
  ['a link that a user opens', { 'sec-fetch-site': 'none' }, 200],
])(
  'a read with the session from %s is answered with the right status',
  async (_from, sent, code) => {
    expect((await get(`${API}/teams`, { ...session(), ...sent })).code).toBe(code);
  },
);
