/** Signing in with a password, and the session of the browser that comes of it. */
import { beforeAll, describe, expect, test } from 'vitest';
import { hashPassword } from '../../../src/auth/identity/password.ts';
import { object } from '../../support/guarded-platform.ts';
import {
  BASE_URL,
  openSignInPlatform,
  type SignInPlatform,
} from '../../support/sign-in-platform.ts';

const PASSWORD = 'correct horse battery';
const LOGIN = '/auth/password/login';
let passwordHash = '';
let otherHash = '';

beforeAll(async () => {
  [passwordHash = '', otherHash = ''] = await Promise.all(
    [PASSWORD, 'another battery'].map(hashPassword),
  );
});

async function withAnn(spec: object = {}): Promise<SignInPlatform> {
  const platform = await openSignInPlatform();
  platform.configure({});
  await platform.guarded.give(
    object('User', 'ann', { spec: { passwordHash, groups: ['dev'], ...spec } }),
    object('User', 'bob', { spec: {} }),
  );
  return platform;
}

const credentials = (changes: Record<string, string> = {}): Record<string, string> => ({
  username: 'ann',
  password: PASSWORD,
  ...changes,
});

describe('a right password', () => {
  test('begins a session of the browser, whose key is nowhere but in its cookie', async () => {
    const platform = await withAnn();
    const browser = platform.browser();
    const answer = await browser.post(LOGIN, { ...credentials(), returnTo: '/teams' });
    expect(answer.statusCode).toBe(303);
    expect(answer.headers.location).toBe('/teams');
    const key = browser.session ?? '';
    expect(key).toMatch(/^gpl_/);
    const cookie = answer.cookies.find(({ name }) => name === '__Host-session');
    expect(cookie).toMatchObject({ httpOnly: true, secure: true, sameSite: 'Lax', path: '/' });
    expect(cookie?.maxAge).toBe(1_728_000);
    expect(platform.log.join('')).not.toContain(key);
    expect(platform.log.join('')).not.toContain(PASSWORD);
    const who = await browser.get('/auth/session');
    expect(who.json()).toMatchObject({ user: 'ann', groups: expect.arrayContaining(['dev']) });
    expect(who.body).not.toContain(key);
  });

  test('makes a key in the state and no commit, owned by the user', async () => {
    const platform = await withAnn();
    const before = platform.subjects();
    const browser = platform.browser();
    await browser.post(LOGIN, credentials());
    expect(platform.subjects()).toEqual(before);
    const [name = '', ...more] = platform.guarded.platform.names('ownedaccesskeys');
    expect(more).toEqual([]);
    const { object: key } = platform.guarded.platform.find('ownedaccesskeys', name) ?? {};
    expect(key?.spec).toMatchObject({ type: 'Login', user: 'ann' });
    expect(key?.metadata.ownerReferences).toMatchObject([{ kind: 'User', name: 'ann' }]);
    expect(JSON.stringify(key)).not.toContain(browser.session);
  });

  test('ends the session that the browser had', async () => {
    const platform = await withAnn();
    const browser = platform.browser();
    await browser.post(LOGIN, credentials());
    const before = browser.session ?? '';
    await browser.post(LOGIN, credentials());
    expect(platform.guarded.who(browser.session ?? '').name).toBe('ann');
    expect(() => platform.guarded.who(before)).toThrow();
    expect(platform.guarded.platform.names('ownedaccesskeys')).toHaveLength(1);
  });

  test('a right password of a program is answered with the key', async () => {
    const platform = await withAnn();
    const answer = await platform.browser().post(LOGIN, JSON.stringify(credentials()));
    expect(answer.statusCode).toBe(200);
    const { user, username, accessKey } = answer.json();
    expect([user, username]).toEqual(['ann', 'ann']);
    expect(answer.cookies).toEqual([]);
    expect(platform.guarded.who(accessKey).name).toBe('ann');
    const checked = await platform
      .browser()
      .post('/auth/token', JSON.stringify({ key: accessKey }));
    expect(checked.json()).toMatchObject({ user: 'ann' });
  });

  test('does not help a user that is disabled', async () => {
    const platform = await withAnn({ disabled: true });
    const answer = await platform.browser().post(LOGIN, JSON.stringify(credentials()));
    expect(answer.statusCode).toBe(403);
    expect(platform.guarded.platform.names('ownedaccesskeys')).toEqual([]);
  });

  // covers: auth.password.disabled
  test('does not help where passwords are disabled, and neither does a wrong one', async () => {
    const platform = await withAnn();
    platform.configure({ auth: { password: { disabled: true } } });
    for (const password of [PASSWORD, 'wrong password']) {
      const answer = await platform
        .browser()
        .post(LOGIN, JSON.stringify(credentials({ password })));
      expect(answer.statusCode).toBe(403);
    }
    platform.configure({});
    const answer = await platform.browser().post(LOGIN, JSON.stringify(credentials()));
    expect(answer.statusCode).toBe(200);
  });

  test('does not help if it changes while the key is written', async () => {
    const platform = await withAnn();
    const browser = platform.browser();
    platform.beforeNextCreate(() =>
      platform.guarded.give(object('User', 'ann', { spec: { passwordHash: otherHash } })),
    );
    await browser.post(LOGIN, credentials());
    expect(browser.session).toBeUndefined();
    await platform.service.settled();
    expect(platform.guarded.platform.names('ownedaccesskeys')).toEqual([]);
  });
});

describe('anything else', () => {
  test('gets the same answer for any reason', async () => {
    const platform = await withAnn();
    const cases: Record<string, Record<string, string>> = {
      'a wrong password': { password: 'wrong horse battery' },
      'no password': { password: '' },
      'a user without one': { username: 'bob' },
      'a user that nobody knows': { username: 'eve' },
      'no user': { username: '' },
      'the hash in place of the password': { password: passwordHash },
      'an endless password': { password: 'x'.repeat(5000) },
    };
    for (const [what, changes] of Object.entries(cases)) {
      platform.clock.ms += 60_000;
      const sent = JSON.stringify(credentials(changes));
      const answer = await platform.browser().post(LOGIN, sent);
      expect(answer.statusCode, what).toBe(401);
      const message = 'The user name or the password is wrong. (request-1)';
      expect(answer.json(), what).toMatchObject({ kind: 'Status', message });
      expect(answer.cookies, what).toEqual([]);
    }
    expect(platform.log.join('')).toContain('wrong-password');
  });

  test('a form goes back to the page, with a word for the reason', async () => {
    const platform = await withAnn();
    const sent = { ...credentials({ password: 'x' }), returnTo: '/teams' };
    const answer = await platform.browser().post(LOGIN, sent);
    expect(answer.statusCode).toBe(303);
    expect(answer.headers.location).toBe(
      '/login?error=wrong-password&reference=request-1&returnTo=%2Fteams',
    );
  });

  test('a body that is neither a form nor an object signs no user in', async () => {
    const platform = await withAnn();
    const bodies = ['[]', '"x"', '{', 'null', '{"username":["ann"],"password":{"a":1}}'];
    for (const body of bodies) {
      const answer = await platform.browser().post(LOGIN, body);
      expect([400, 401], body).toContain(answer.statusCode);
    }
  });

  test('another site signs no user in, with any password', async () => {
    const platform = await withAnn();
    const browser = platform.browser();
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { origin: 'https://evil.example' },
    ]) {
      await browser.post(LOGIN, credentials(), headers);
      expect(browser.session).toBeUndefined();
    }
  });
});

test('a user with too many failures waits, even with the right password, and others do not', async () => {
  const platform = await withAnn();
  const codes: number[] = [];
  for (let i = 0; i < 9; i++) {
    const wrong = JSON.stringify(credentials({ password: 'wrong' }));
    codes.push((await platform.browser().post(LOGIN, wrong)).statusCode);
  }
  expect(codes).toEqual([...Array<number>(8).fill(401), 429]);
  const right = await platform.browser().post(LOGIN, JSON.stringify(credentials()));
  expect(right.statusCode).toBe(429);
  expect(Number(right.headers['retry-after'])).toBeGreaterThan(0);
  platform.clock.ms += 61_000;
  expect((await platform.browser().post(LOGIN, JSON.stringify(credentials()))).statusCode).toBe(
    200,
  );
});

test('an address that fails with many names waits as well', async () => {
  const platform = await withAnn();
  platform.configure({ auth: { password: { disabled: false } } });
  const tries = await Promise.all(
    Array.from({ length: 24 }, (_, i) =>
      platform.browser().post(LOGIN, JSON.stringify({ username: `user-${i}`, password: 'x' })),
    ),
  );
  expect(tries.filter(({ statusCode }) => statusCode === 401)).toHaveLength(20);
  expect(tries.filter(({ statusCode }) => statusCode === 429)).toHaveLength(4);
});

describe('the session of a browser', () => {
  async function signedIn() {
    const platform = await withAnn();
    const browser = platform.browser();
    await browser.post(LOGIN, credentials());
    const { csrfToken } = (await browser.get('/auth/session')).json();
    return { platform, browser, csrf: String(csrfToken) };
  }

  test('reads', async () => {
    const { browser } = await signedIn();
    expect((await browser.get('/who')).json()).toMatchObject({ name: 'ann' });
  });

  test('changes with the token, from a page of the platform, and not without', async () => {
    const { browser, csrf } = await signedIn();
    const ours = { 'sec-fetch-site': 'same-origin' };
    const codes = await Promise.all(
      [
        { ...ours, 'x-csrf-token': csrf },
        { origin: BASE_URL, 'x-csrf-token': csrf },
        ours,
        { 'x-csrf-token': csrf },
        { 'sec-fetch-site': 'cross-site', 'x-csrf-token': csrf },
        {},
      ].map(async (headers) => (await browser.post('/who', '{}', headers)).statusCode),
    );
    expect(codes.map((code) => code === 200)).toEqual([true, true, false, false, false, false]);
  });

  test('does not count beside a bearer token, even one that does not work', async () => {
    const { browser } = await signedIn();
    const answer = await browser.get('/who', { authorization: 'Bearer wrong' });
    expect(answer.statusCode).not.toBe(200);
  });

  test('ends when users sign out: the key is removed before the answer', async () => {
    const { browser, platform } = await signedIn();
    const key = browser.session;
    const answer = await browser.get('/auth/logout', { 'sec-fetch-site': 'same-origin' });
    expect(answer.headers.location).toBe('/login?signed-out=1');
    expect(browser.session).toBeUndefined();
    expect(platform.guarded.platform.names('ownedaccesskeys')).toEqual([]);
    expect(() => platform.guarded.who(key ?? '')).toThrow();
  });

  test('is not ended by another site', async () => {
    const { browser } = await signedIn();
    await browser.get('/auth/logout', { 'sec-fetch-site': 'cross-site' });
    expect((await browser.get('/who')).statusCode).toBe(200);
  });

  // covers: auth.loginAccessKeyTTLSeconds auth.accessKeyMaxTTLSeconds
  test('lasts as long as the configuration says', async () => {
    const platform = await withAnn();
    const lives: [object, number | undefined][] = [
      [{}, 1_728_000],
      [{ loginAccessKeyTTLSeconds: 60 }, 60],
      [{ loginAccessKeyTTLSeconds: 60, accessKeyMaxTTLSeconds: 30 }, 30],
      [{ loginAccessKeyTTLSeconds: 0, accessKeyMaxTTLSeconds: 30 }, 30],
      [{ loginAccessKeyTTLSeconds: 0 }, undefined],
    ];
    for (const [auth, seconds] of lives) {
      platform.configure({ auth });
      const browser = platform.browser();
      const answer = await browser.post(LOGIN, credentials());
      const cookie = answer.cookies.find(({ name }) => name === '__Host-session');
      expect(cookie?.maxAge).toBe(seconds);
      platform.clock.ms += (seconds ?? 400 * 86_400) * 1000 - 1000;
      expect((await browser.get('/who')).statusCode).toBe(200);
      platform.clock.ms += 2000;
      expect((await browser.get('/who')).statusCode === 200).toBe(seconds === undefined);
    }
  });
});

// covers: auth.customHttpHeaders
test('every answer below /auth has the headers that keep it private, and those of the configuration', async () => {
  const platform = await withAnn();
  platform.configure({
    auth: { customHttpHeaders: { 'X-Frame-Options': 'SAMEORIGIN', 'X-A': 'b' } },
  });
  for (const url of ['/auth/session', '/auth/nobody/login', '/auth/nobody/callback?state=x']) {
    const { headers } = await platform.browser().get(url);
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'SAMEORIGIN',
      'x-a': 'b',
    });
    expect(headers['content-security-policy']).toContain("default-src 'none'");
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
  }
});

test('a body that cannot be read is logged at debug level alone: strangers send them at will', async () => {
  const platform = await withAnn();
  const answer = await platform.browser().post(LOGIN, '[]');
  expect(answer.statusCode).toBe(400);
  const lines = platform.log.map((line) => JSON.parse(line));
  const refusals = lines.filter(({ reason }) => reason === 'bad-body');
  expect(refusals).toEqual([expect.objectContaining({ level: 'debug' })]);
});

test('refusals beyond a hundred are logged at debug level: strangers cause them at will', async () => {
  const platform = await withAnn();
  for (let i = 0; i < 300; i += 1) {
    const answer = await platform.browser().get('/auth/cli?redirect_uri=x');
    expect(answer.statusCode).toBe(400);
  }
  const refusals = platform.log.map((line) => JSON.parse(line)).filter(({ reason }) => reason);
  const warnings = refusals.filter(({ level }) => level === 'warn');
  expect(refusals).toHaveLength(300);
  expect(warnings.length).toBeGreaterThanOrEqual(100);
  expect(warnings.length).toBeLessThan(290);
});
