/** Programs that people sign in: what others may try with their pages, codes and keys. */
import { createHash } from 'node:crypto';
import type { LightMyRequestResponse } from 'fastify';
import { beforeEach, describe, expect, test } from 'vitest';
import { object } from '../../support/guarded-platform.ts';
import {
  type Browser,
  openSignInPlatform,
  type SignInPlatform,
} from '../../support/sign-in-platform.ts';

const VERIFIER = 'v'.repeat(43);
const REDIRECT = 'http://127.0.0.1:4321/callback';
const OURS = { 'sec-fetch-site': 'same-origin' };

let platform: SignInPlatform;
let ann: Browser;

beforeEach(async () => {
  platform = await openSignInPlatform();
  platform.configure({});
  await platform.guarded.give(
    object('User', 'ann', { spec: {} }),
    object('User', 'bob', { spec: {} }),
  );
  ann = await signedIn('ann');
});

async function signedIn(user: string): Promise<Browser> {
  const browser = platform.browser();
  const { key } = await platform.service.signIn.accounts.mint({ user, displayName: 'a browser' });
  browser.cookies.set('__Host-session', key);
  return browser;
}

function request(changes: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    redirect_uri: REDIRECT,
    state: 's'.repeat(43),
    code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'),
    code_challenge_method: 'S256',
    device: 'ann@laptop',
    client: 'gitplane 1',
    ...changes,
  };
}

const url = (fields: Readonly<Record<string, string>>): string =>
  `/auth/cli?${new URLSearchParams(fields)}`;

/** The hidden fields of the page, as a browser would send them. */
function fieldsOf(page: LightMyRequestResponse): Record<string, string> {
  const inputs = page.body.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g);
  return Object.fromEntries([...inputs].map(([, name = '', value = '']) => [name, value]));
}

async function agreed(browser: Browser = ann): Promise<string> {
  const page = await browser.get(url(request()));
  const answer = await browser.post('/auth/cli', { ...fieldsOf(page), decision: 'allow' }, OURS);
  expect(answer.statusCode).toBe(303);
  const back = new URL(String(answer.headers.location));
  expect(`${back.origin}${back.pathname}`).toBe(REDIRECT);
  return back.searchParams.get('code') ?? '';
}

const redeem = (code: string, more: object = {}): Promise<LightMyRequestResponse> =>
  platform
    .browser()
    .post(
      '/auth/cli/token',
      JSON.stringify({ code, code_verifier: VERIFIER, redirect_uri: REDIRECT, ...more }),
    );

const keys = (): string[] => platform.guarded.platform.names('ownedaccesskeys');

const WRONG_REQUESTS: readonly Readonly<Record<string, string>>[] = [
  { redirect_uri: 'https://evil.example/callback' },
  { redirect_uri: 'http://localhost:4321/callback' },
  { redirect_uri: 'http://127.0.0.1:4321@evil.example/callback' },
  { redirect_uri: 'http://127.0.0.1.evil.example:4321/callback' },
  { redirect_uri: 'http://127.0.0.1:4321/callback/../x' },
  { redirect_uri: 'http://127.0.0.1:80/callback' },
  { redirect_uri: 'http://127.0.0.1:65536/callback' },
  { redirect_uri: 'javascript:alert(1)' },
  { code_challenge: '' },
  { code_challenge_method: 'plain' },
  { state: '' },
  { state: '"><script>alert(1)</script>' },
];

describe('a program on the computer of the browser', () => {
  test('gets a login key of the approving user, made when it is fetched, once', async () => {
    const before = keys();
    const code = await agreed();
    expect(keys()).toEqual(before);
    const answer = await redeem(code);
    expect([answer.statusCode, answer.headers['cache-control']]).toEqual([200, 'no-store']);
    const { accessKey, user, expirationTimestamp } = answer.json();
    expect([user, platform.guarded.who(accessKey).name]).toEqual(['ann', 'ann']);
    expect(Date.parse(expirationTimestamp)).toBe(platform.clock.ms + 1_728_000_000);
    expect(accessKey).not.toBe(ann.session);
    const again = await redeem(code);
    expect([again.statusCode, again.json().error]).toEqual([400, 'invalid_grant']);
    expect(keys()).toHaveLength(before.length + 1);
    expect(platform.log.join('')).not.toContain(accessKey);
    expect(platform.log.join('')).not.toContain(code);
  });

  test.each([
    ['another verifier', { code_verifier: 'w'.repeat(43) }],
    ['no verifier', { code_verifier: '' }],
    ['another redirect', { redirect_uri: 'http://127.0.0.1:4322/callback' }],
    ['a verifier that is no text', { code_verifier: [VERIFIER] }],
  ])('a program with %s gets nothing, and the code is used up', async (_what, change) => {
    const code = await agreed();
    expect((await redeem(code, change)).statusCode).toBe(400);
    expect((await redeem(code)).json().error).toBe('invalid_grant');
  });

  const ENDS: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['signed out', () => ann.get('/auth/logout', OURS)],
    [
      'was disabled',
      () =>
        platform.guarded.platform.patch('users', 'ann', ({ spec }) => {
          spec.disabled = true;
        }),
    ],
    [
      'was replaced',
      async () => {
        await platform.guarded.platform.delete('users', 'ann');
        await platform.guarded.give(object('User', 'ann', { spec: {} }));
      },
    ],
  ];

  test.each(ENDS)('gets nothing from who %s meanwhile', async (_what, act) => {
    const code = await agreed();
    await act();
    const before = keys();
    const answer = await redeem(code);
    expect([answer.statusCode, answer.json().accessKey]).toEqual([400, undefined]);
    expect(keys()).toEqual(before);
  });

  test.each(ENDS)('gets nothing from who %s while the key is written', async (_what, act) => {
    const code = await agreed();
    const before = keys();
    platform.beforeNextCreate(act);
    const answer = await redeem(code);
    expect([answer.statusCode, answer.json().accessKey]).toEqual([403, undefined]);
    expect(before).toEqual(expect.arrayContaining(keys()));
  });

  test('a program that asks for a redirect beyond a local port, or without its proofs, gets none', async () => {
    const fields = fieldsOf(await ann.get(url(request())));
    for (const change of WRONG_REQUESTS) {
      const answers = [
        await ann.get(url(request(change))),
        await platform.browser().get(url(request(change))),
        await ann.post('/auth/cli', { ...fields, ...change, decision: 'allow' }, OURS),
      ];
      for (const { statusCode, headers, body } of answers) {
        expect([change, statusCode, headers.location]).toEqual([change, 400, undefined]);
        expect(body).not.toMatch(/evil|<script/);
      }
    }
  });

  test('a program waits for the user to sign in, and the user returns to it', async () => {
    const answer = await platform.browser().get(url(request()));
    expect(answer.statusCode).toBe(303);
    const to = new URL(String(answer.headers.location), 'https://x');
    expect([to.pathname, to.searchParams.get('returnTo')]).toEqual(['/login', url(request())]);
  });

  test('gets the refusal when the user declines', async () => {
    const fields = fieldsOf(await ann.get(url(request())));
    const answer = await ann.post('/auth/cli', { ...fields, decision: 'deny' }, OURS);
    const back = new URL(String(answer.headers.location));
    expect(Object.fromEntries(back.searchParams)).toEqual({
      state: 's'.repeat(43),
      error: 'access_denied',
    });
  });
});

describe('agreeing takes the page of the session', () => {
  test('refuses a form of another site, and one without the token of the session', async () => {
    const fields = { ...fieldsOf(await ann.get(url(request()))), user_code: 'BBBBBBBB' };
    for (const [change, headers] of [
      [{}, { 'sec-fetch-site': 'cross-site' }],
      [{}, { 'sec-fetch-site': 'same-site' }],
      [{}, { origin: 'https://evil.example' }],
      [{ csrf: '' }, OURS],
      [{ csrf: 'x'.repeat(43) }, OURS],
    ] as const) {
      for (const path of ['/auth/cli', '/device']) {
        const answer = await ann.post(path, { ...fields, ...change, decision: 'allow' }, headers);
        expect([path, answer.statusCode, answer.headers.location]).toEqual([path, 403, undefined]);
      }
    }
  });

  test('refuses the token of another user', async () => {
    const bob = await signedIn('bob');
    const { csrf = '' } = fieldsOf(await bob.get(url(request())));
    const answer = await ann.post('/auth/cli', { ...request(), csrf, decision: 'allow' }, OURS);
    expect(answer.statusCode).toBe(403);
  });

  test('refuses an access key with a purpose: no login key comes of it', async () => {
    const scope = { rules: [{ verbs: ['get'], resources: [{ group: '', resources: ['x'] }] }] };
    const made = await Promise.all(
      [{ user: 'ann', scope }, { user: 'ann' }, { user: 'ann', type: 'Other' }].map((spec, index) =>
        platform.guarded.platform.create('ownedaccesskeys', {
          metadata: { name: `key-${index}` },
          spec,
        }),
      ),
    );
    for (const { object: key } of made) {
      const browser = platform.browser();
      browser.cookies.set('__Host-session', String(key.spec?.['key']));
      const before = keys();
      const answer = await redeem(await agreed(browser));
      expect([answer.statusCode, answer.json().error]).toEqual([403, 'access_denied']);
      expect(keys()).toEqual(before);
    }
  });
});

describe('a program elsewhere', () => {
  interface Begun {
    readonly device_code: string;
    readonly user_code: string;
    readonly verification_uri: string;
  }

  async function begin(
    body: object = { device: 'ci <b>runner</b>', client: 'gitplane' },
  ): Promise<Begun> {
    const answer = await platform.browser().post('/auth/device', JSON.stringify(body));
    expect([answer.statusCode, answer.headers['cache-control']]).toEqual([200, 'no-store']);
    return answer.json();
  }

  const poll = async (
    deviceCode: string,
    type = 'device_code',
  ): Promise<LightMyRequestResponse> => {
    platform.clock.ms += 6_000;
    return await platform.browser().post('/auth/device/token', {
      grant_type: `urn:ietf:params:oauth:grant-type:${type}`,
      device_code: deviceCode,
    });
  };

  /** Types the code and gets the page of the program. */
  async function typed(userCode: string): Promise<LightMyRequestResponse> {
    const form = fieldsOf(await ann.get(`/device?user_code=${userCode}`));
    expect(Object.keys(form)).toEqual(['csrf']);
    return await ann.post('/device', { ...form, user_code: userCode }, OURS);
  }

  async function decide(userCode: string, decision: string): Promise<LightMyRequestResponse> {
    const page = await typed(userCode);
    expect(page.statusCode).toBe(200);
    return await ann.post('/device', { ...fieldsOf(page), decision }, OURS);
  }

  test('polls until a user who saw the requester approves, and gets one key', async () => {
    const { device_code: code, user_code: userCode, verification_uri: uri } = await begin();
    expect(uri).toBe('https://platform.example/device');
    expect((await poll(code)).json()).toEqual({ error: 'authorization_pending' });
    const page = await typed(userCode);
    expect(page.body).toContain('ci &lt;b&gt;runner&lt;/b&gt;');
    expect(page.body).toContain('127.0.0.1');
    expect((await decide(userCode, 'allow')).statusCode).toBe(200);
    const answer = await poll(code);
    expect(platform.guarded.who(answer.json().accessKey).name).toBe('ann');
    expect((await poll(code)).json()).toEqual({ error: 'expired_token' });
    expect(platform.log.join('')).not.toContain(code);
  });

  test('gets the refusal when the user declines, without the name of the user', async () => {
    const { device_code: code, user_code: userCode } = await begin();
    await decide(userCode, 'deny');
    expect((await poll(code)).json()).toEqual({ error: 'access_denied' });
  });

  test('gets nothing from a choice that is none', async () => {
    const { device_code: code, user_code: userCode } = await begin();
    await decide(userCode, '');
    expect((await poll(code)).json()).toEqual({ error: 'access_denied' });
  });

  test('must name its type of grant, and its own code', async () => {
    const { device_code: code, user_code: userCode } = await begin();
    expect((await poll(code, 'other')).json().error).toBe('unsupported_grant_type');
    expect((await poll(userCode)).json().error).toBe('expired_token');
  });

  test('cannot be found by trying codes', async () => {
    const answers: number[] = [];
    for (const letter of 'BCDFGHJKLMNPQRSTVWXZBCDFG') {
      answers.push((await typed(`BBBB-BBB${letter}`)).statusCode);
    }
    expect(answers.slice(0, 20)).toEqual(Array(20).fill(400));
    expect(answers.at(-1)).toBe(429);
  });

  test('is not found by a user who goes on trying while told to wait', async () => {
    const { user_code: userCode } = await begin();
    for (const letter of 'BCDFGHJKLMNPQRSTVWXZ') await typed(`BBBB-BBB${letter}`);
    expect((await typed(userCode)).statusCode).toBe(429);
    platform.clock.ms += 60_000;
    expect((await typed(userCode)).statusCode).toBe(200);
  });

  test('is found by its own code as often as that is typed', async () => {
    const { user_code: userCode } = await begin();
    for (let count = 0; count < 25; count += 1) {
      expect((await typed(userCode)).statusCode).toBe(200);
    }
  });

  test('an address can begin only a limited number', async () => {
    for (let count = 0; count < 20; count += 1) await begin();
    const answer = await platform.browser().post('/auth/device', '{}');
    expect([answer.statusCode, answer.headers['retry-after']]).toEqual([429, expect.any(String)]);
  });

  test('a program that sends no object is refused', async () => {
    for (const body of ['[]', '{"device"', 'null']) {
      const answer = await platform.browser().post('/auth/device', body);
      expect([answer.statusCode, answer.json().error]).toEqual([400, 'invalid_request']);
    }
  });
});

describe('a key', () => {
  test('a key of a sign-in expires; other keys stay', async () => {
    const { accessKey } = (await redeem(await agreed())).json();
    const { object: other } = await platform.guarded.platform.create('ownedaccesskeys', {
      metadata: { name: 'pipeline' },
      spec: { user: 'ann' },
    });
    const revoke = (key: string) =>
      platform.browser().post('/auth/revoke', JSON.stringify({ key }));
    expect((await revoke(accessKey)).json()).toEqual({ revoked: true });
    expect((await revoke(accessKey)).statusCode).toBe(401);
    const otherKey = String(other.spec?.['key']);
    expect((await revoke(otherKey)).json()).toEqual({ revoked: false });
    expect(platform.guarded.who(otherKey).name).toBe('ann');
  });
});

describe('/login', () => {
  test('leads back to a path of this host, or to the console', async () => {
    for (const [path, expected] of [
      ['/login', '/console'],
      ['/login?returnTo=/device', '/device'],
      ['/login?returnTo=//evil.example', '/console'],
      ['/login?returnTo=https://evil.example', '/console'],
      ['/login?returnTo=/%5Cevil.example', '/console'],
    ] as const) {
      const page = await platform.browser().get(path);
      expect([path, fieldsOf(page)['returnTo']]).toEqual([path, expected]);
      expect(page.body).not.toContain('evil');
    }
  });

  test('shows no foreign text of its address', async () => {
    const page = await platform
      .browser()
      .get('/login?error=%3Cscript%3Ex&reference=%3Cb%3E&returnTo=%22');
    expect(page.body).toContain('Signing in did not work');
    expect(page.body).not.toMatch(/<script|<b>/);
  });

  // covers: auth.customHttpHeaders
  test('has the headers of the configuration, its own policy included', async () => {
    const policy = (await platform.browser().get('/login')).headers['content-security-policy'];
    expect(policy).toContain("default-src 'none'");
    platform.configure({
      auth: { customHttpHeaders: { 'Content-Security-Policy': 'img-src x', 'X-Own': '1' } },
    });
    for (const path of ['/login', '/auth/cli/done']) {
      const { headers } = await platform.browser().get(path);
      expect([headers['content-security-policy'], headers['x-own']]).toEqual(['img-src x', '1']);
    }
  });
});
