/** Who is asked to sign in, who is let through, and who is told what. */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Browser, KUBECTL, RelyingParty, SECRET, startProvider, WEB } from './running.ts';

async function scene() {
  const provider = await startProvider();
  const web = await RelyingParty.web(provider.issuer);
  /** As `login`, a minute ago. */
  const loginBefore = async (user: string): Promise<string> => {
    provider.setClock(() => Date.now() - 60_000);
    const key = await provider.login(user);
    provider.setClock(() => Date.now());
    return key;
  };
  return { ...provider, web, loginBefore, browser: new Browser() };
}

/** Where an answer to the client leads, and what it says. */
function answerOf(location: string | undefined): Record<string, string> {
  const url = new URL(location ?? 'about:blank');
  return { to: `${url.origin}${url.pathname}`, ...Object.fromEntries(url.searchParams) };
}

describe('a user who is not signed in', () => {
  test('is sent to the sign-in page, and from there to the client', async () => {
    const { web, browser, login } = await scene();
    const attempt = await web.begin();
    const { location = '' } = await browser.follow(attempt.url);
    const page = new URL(location);
    expect(page.pathname).toBe('/login');
    const returnTo = page.searchParams.get('returnTo') ?? '';
    expect(returnTo).toMatch(/^\/oidc\/interaction\/[\w-]+$/);
    browser.signIn(await login('ann'));
    const done = await browser.follow(new URL(returnTo, page).href);
    expect((await web.finish(attempt, done.location ?? '')).claims()?.sub).toBe('ann');
  });

  test('is not asked where the client wants no page shown', async () => {
    const { web, browser, login } = await scene();
    const attempt = await web.begin({ prompt: 'none' });
    const refused = await browser.follow(attempt.url);
    expect(answerOf(refused.location)).toMatchObject({
      error: 'login_required',
      state: attempt.state,
    });
    browser.signIn(await login('ann'));
    const { location = '' } = await browser.get(attempt.url);
    expect((await web.finish(attempt, location)).claims()?.sub).toBe('ann');
  });

  test('gets nowhere with the steps of another browser', async () => {
    const { web, browser, login } = await scene();
    const { location = '' } = await browser.follow((await web.begin()).url);
    const returnTo = new URL(location).searchParams.get('returnTo') ?? '';
    const other = new Browser();
    other.signIn(await login('bob'));
    const visit = await other.follow(new URL(returnTo, location).href);
    expect(visit.code).toBe(400);
    expect(visit.location).toBeUndefined();
  });
});

describe('a signed-in user', () => {
  test.each<[string, Record<string, string>]>([
    ['the client wants it', { prompt: 'login' }],
    ['it is too long ago', { max_age: '0' }],
  ])('signs in again when %s', async (_why, parameters) => {
    const { web, browser, loginBefore, login } = await scene();
    browser.signIn(await loginBefore('ann'));
    const attempt = await web.begin(parameters);
    const asked = new URL((await browser.follow(attempt.url)).location ?? '');
    expect(asked.pathname).toBe('/login');
    expect(asked.searchParams.get('prompt')).toBe('login');
    const back = new URL(asked.searchParams.get('returnTo') ?? '', asked).href;
    // Coming back without having done so changes nothing.
    expect(new URL((await browser.follow(back)).location ?? '').pathname).toBe('/login');
    browser.signIn(await login('bob'));
    const { location = '' } = await browser.follow(back);
    expect((await web.finish(attempt, location)).claims()?.sub).toBe('bob');
  });

  test('is the user that the platform names, also after a change of users', async () => {
    const { web, browser, login } = await scene();
    browser.signIn(await login('ann'));
    expect((await web.signIn(browser)).claims()?.sub).toBe('ann');
    browser.signIn(await login('bob'));
    expect((await web.signIn(browser)).claims()?.sub).toBe('bob');
    browser.signOut();
    const { location = '' } = await browser.follow((await web.begin()).url);
    expect(new URL(location).pathname).toBe('/login');
  });

  test('is not let through as another one than the client asks for, and not asked for ever', async () => {
    const { web, browser, loginBefore, login } = await scene();
    browser.signIn(await loginBefore('ann'));
    const { id_token: hint = '' } = await web.signIn(browser);
    browser.signIn(await loginBefore('bob'));
    const attempt = await web.begin({ id_token_hint: hint });
    const asked = new URL((await browser.follow(attempt.url)).location ?? '');
    expect(asked.pathname).toBe('/login');
    browser.signIn(await login('bob'));
    const back = new URL(asked.searchParams.get('returnTo') ?? '', asked).href;
    const { location } = await browser.follow(back);
    expect(answerOf(location)).toMatchObject({ error: 'login_required' });
  });

  test('a signed-in user with a key that a scope limits gets no token', async () => {
    const { web, browser, login } = await scene();
    browser.signIn(await login('ann', { scope: { projects: [{ project: 'a' }] } }));
    const { location } = await browser.follow((await web.begin()).url);
    expect(answerOf(location)).toMatchObject({ error: 'access_denied' });
  });

  test('a key of a team cannot sign in', async () => {
    const { web, browser, login } = await scene();
    browser.signIn(await login('ann', { user: undefined, team: 'ops' }));
    const { location = '' } = await browser.follow((await web.begin()).url);
    expect(new URL(location).pathname).toBe('/login');
  });

  test('may be sent back by a form, whose script is the only one that may run', async () => {
    const { web, browser, login } = await scene();
    browser.signIn(await login('ann'));
    const page = await browser.get((await web.begin({ response_mode: 'form_post' })).url);
    expect(page.text).toContain('<form method="post" action="https://app.example.com/callback">');
    expect(page.headers['content-security-policy']).toMatch(/script-src 'sha256-[^']+'$/);
    expect(page.headers['content-security-policy']).not.toContain('form-action');
  });

  test('approves a configured client without a question, for any scope', async () => {
    const { web, browser, login } = await scene();
    browser.signIn(await login('ann'));
    const tokens = await web.signIn(browser, { prompt: 'consent', scope: 'openid offline_access' });
    expect(tokens.refresh_token).toBeDefined();
  });
});

describe('a client', () => {
  // covers: oidc.clients oidc.clients[].{clientId,redirectURIs}
  test.each<[string, Record<string, string>]>([
    ['nobody knows', { client_id: 'stranger' }],
    ['sends people elsewhere', { redirect_uri: 'https://evil.example/callback' }],
    ['names no redirect', { redirect_uri: '' }],
  ])(
    'a client that %s gets no redirect, and the answer repeats none of its input',
    async (_what, of) => {
      const { web, browser, login } = await scene();
      browser.signIn(await login('ann'));
      const evil = '<script>alert(1)</script>';
      const attempt = await web.begin({ state: evil, nonce: evil, ...of });
      const visit = await browser.get(attempt.url);
      expect(visit.code).toBe(400);
      expect(visit.location).toBeUndefined();
      expect(visit.text).not.toMatch(/<script>|evil|stranger/);
      expect(visit.text).toContain('request-');
      expect(visit.headers['content-security-policy']).toContain("default-src 'none'");
    },
  );

  test.each<[string, Record<string, string>, string]>([
    ['without PKCE', { code_challenge: '', code_challenge_method: '' }, 'invalid_request'],
    ['with PKCE in the clear', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['for an implicit token', { response_type: 'token' }, 'unsupported_response_type'],
    ['with a nonce that is too long', { nonce: 'n'.repeat(513) }, 'invalid_request'],
    ['with a request object', { request: 'e30.e30.' }, 'request_not_supported'],
  ])('a client without a secret that asks %s is refused', async (_what, parameters, error) => {
    const { issuer, browser, login } = await scene();
    browser.signIn(await login('ann'));
    const kubectl = await RelyingParty.kubectl(issuer);
    const { location = '' } = await browser.get((await kubectl.begin(parameters)).url);
    expect(location).toMatch(/^http:\/\/localhost:8000\//);
    expect(new URLSearchParams(location.split(/[?#]/)[1]).get('error')).toBe(error);
  });

  // covers: oidc.clients[].clientSecret
  test('a client with another secret, or with none, gets no token and learns nothing', async () => {
    const { issuer, browser, login, log } = await scene();
    browser.signIn(await login('ann'));
    const [redirectUri = ''] = WEB.redirectURIs;
    for (const secret of ['wrong', undefined]) {
      const of = { id: 'web', redirectUri, ...(secret === undefined ? {} : { secret }) };
      const fake = await RelyingParty.discover(issuer, of);
      await expect(fake.signIn(browser)).rejects.toMatchObject({ status: 401 });
    }
    expect(log.join('')).toContain('invalid secret');
    expect(log.join('')).not.toContain(SECRET);
  });

  test('a client that changed during a sign-in gets the user back by its current rules', async () => {
    const { web, browser, login, configure } = await scene();
    const attempt = await web.begin();
    const asked = new URL((await browser.follow(attempt.url)).location ?? '');
    const back = new URL(asked.searchParams.get('returnTo') ?? '', asked).href;
    browser.signIn(await login('ann'));
    configure({
      enabled: true,
      clients: [{ ...WEB, redirectURIs: ['https://new.example.com/cb'] }],
    });
    const refused = await browser.follow(back);
    expect(refused.code).toBe(400);
    expect(refused.location).toBeUndefined();
    configure({ enabled: true, clients: [WEB, KUBECTL] });
    const { location = '' } = await browser.follow(back);
    configure({ enabled: true, clients: [KUBECTL] });
    await expect(web.finish(attempt, location)).rejects.toMatchObject({ status: 401 });
  });

  test('a client in a page may read answers on its own origin', async () => {
    const { issuer, configure } = await scene();
    configure({
      enabled: true,
      clients: [WEB, { clientId: 'page', redirectURIs: ['https://page.example.com/cb'] }],
    });
    const ask = async (id: string, origin: string): Promise<string | null> => {
      const body = new URLSearchParams({
        client_id: id,
        grant_type: 'refresh_token',
        refresh_token: 'x',
      });
      const answer = await fetch(`${issuer}/token`, { method: 'POST', headers: { origin }, body });
      return answer.headers.get('access-control-allow-origin');
    };
    expect(await ask('page', 'https://page.example.com')).toBe('https://page.example.com');
    expect(await ask('page', 'https://evil.example')).toBeNull();
    expect(await ask('page', 'null')).toBeNull();
  });
});

describe('signing out', () => {
  test('signing out at the request of a client ends the session with the platform, once the user agrees', async () => {
    const { issuer, web, browser, login, platform } = await scene();
    const key = await login('ann');
    browser.signIn(key);
    const { id_token: hint = '' } = await web.signIn(browser);
    const leave = new URL(`${issuer}/logout`);
    leave.search = String(
      new URLSearchParams({
        id_token_hint: hint,
        post_logout_redirect_uri: 'https://app.example.com/bye',
        state: 's',
      }),
    );
    const page = await browser.get(leave.href);
    expect(page.code).toBe(200);
    expect(page.headers['content-security-policy']).not.toContain('form-action');
    const xsrf = /name="xsrf" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
    const forged = await browser.post(`${issuer}/logout/confirm`, { xsrf: 'x', logout: 'yes' });
    expect(forged.code).toBe(400);
    expect(platform.access.authenticate(key)).toHaveProperty('user');
    const done = await browser.post(`${issuer}/logout/confirm`, { xsrf, logout: 'yes' });
    expect(done.location).toBe('https://app.example.com/bye?state=s');
    expect(browser.cookieNames).not.toContain('gitplane-session');
    expect(platform.access.authenticate(key)).not.toHaveProperty('user');
    const { location = '' } = await browser.follow((await web.begin()).url);
    expect(new URL(location).pathname).toBe('/login');
  });

  test("leads to no address that is not the client's", async () => {
    const { issuer, web, browser, login } = await scene();
    browser.signIn(await login('ann'));
    const { id_token: hint = '' } = await web.signIn(browser);
    const leave = new URLSearchParams({
      id_token_hint: hint,
      post_logout_redirect_uri: 'https://evil.example/',
    });
    const visit = await browser.get(`${issuer}/logout?${leave}`);
    expect(visit.code).toBe(400);
    expect(visit.text).not.toContain('evil');
  });
});

describe('keys', () => {
  test('keys of both algorithms are created on first use, published, readable by their owner alone, and rotated in advance', async () => {
    const keysIn = join(mkdtempSync(join(tmpdir(), 'gitplane-oidc-keys-')), 'oidc');
    onTestFinished(() => rmSync(join(keysIn, '..'), { recursive: true, force: true }));
    const provider = await startProvider({}, { keysIn });
    expect(() => readdirSync(keysIn)).toThrow();
    const web = await RelyingParty.web(provider.issuer);
    const jwks = async (): Promise<{ kid: string; alg: string }[]> =>
      ((await (await fetch(`${provider.issuer}/jwks`)).json()) as { keys: never[] }).keys;
    const first = await jwks();
    expect(first.map(({ alg }) => alg)).toEqual(['RS256', 'ES256']);
    expect(JSON.stringify(first)).not.toMatch(/"(d|p|q|dp|dq|qi)"/);
    for (const file of readdirSync(keysIn)) {
      expect(statSync(join(keysIn, file)).mode & 0o777).toBe(0o600);
    }
    const browser = new Browser();
    browser.signIn(await provider.login('ann'));
    const { id_token: token = '' } = await web.signIn(browser);
    expect(decodeProtectedHeader(token)).toMatchObject({ alg: 'RS256', kid: first[0]?.kid });
    const now = Date.now();
    provider.setClock(() => now + 91 * 86_400_000);
    provider.restart();
    const both = await jwks();
    expect(both.map(({ alg }) => alg)).toEqual(['RS256', 'RS256', 'ES256', 'ES256']);
    const keys = createRemoteJWKSet(new URL(`${provider.issuer}/jwks`));
    const { issuer } = provider;
    await jwtVerify(token, keys, { issuer, audience: 'web', algorithms: ['RS256', 'ES256'] });
    // The new one signs when everybody had time to fetch it.
    browser.signIn(await provider.login('ann'));
    const sign = async (): Promise<unknown> => {
      const anew = await RelyingParty.web(provider.issuer);
      return decodeProtectedHeader((await anew.signIn(browser)).id_token ?? '').kid;
    };
    expect(await sign()).toBe(first[0]?.kid);
    provider.setClock(() => now + 91 * 86_400_000 + 16 * 60_000);
    expect(await sign()).not.toBe(first[0]?.kid);
  });
});
