/** What codes and refresh tokens are worth, and what ends them. */
import { describe, expect, test } from 'vitest';
import { Browser, RelyingParty, type RunningProvider, startProvider } from './running.ts';

const OFFLINE = { scope: 'openid groups offline_access' };
const INVALID = { error: 'invalid_grant' };
const GRACE_MS = 10_000;

interface Scene extends RunningProvider {
  readonly browser: Browser;
  readonly kubectl: RelyingParty;
  readonly web: RelyingParty;
}

async function scene(): Promise<Scene> {
  const provider = await startProvider();
  const browser = new Browser();
  browser.signIn(await provider.login('ann'));
  const { issuer } = provider;
  const [kubectl, web] = [await RelyingParty.kubectl(issuer), await RelyingParty.web(issuer)];
  return { ...provider, browser, kubectl, web };
}

/** A scene in which kubectl has a refresh token, and the name of its key. */
async function loggedIn() {
  const all = await scene();
  const { refresh_token: token = '' } = await all.kubectl.signIn(all.browser, OFFLINE);
  const [name = ''] = loginsOf(all);
  return { ...all, token, name };
}

function loginsOf({ platform }: Pick<Scene, 'platform'>): string[] {
  return platform.platform.names('ownedaccesskeys').filter((name) => name.startsWith('oidc-'));
}

/** Everything that git ever held. */
async function history({ platform }: Scene): Promise<string> {
  const { git } = await import('../support/git.ts');
  return git(platform.platform.repository.gitDir, ['log', '-p', 'main']).toString();
}

describe('a code', () => {
  test('works once, and a second use ends its tokens', async () => {
    const { browser, kubectl, ...all } = await scene();
    const attempt = await kubectl.begin(OFFLINE);
    const { location = '' } = await browser.follow(attempt.url);
    const tokens = await kubectl.finish(attempt, location);
    expect(loginsOf(all)).toHaveLength(1);
    await expect(kubectl.finish(attempt, location)).rejects.toMatchObject(INVALID);
    expect(loginsOf(all)).toHaveLength(0);
    await expect(kubectl.refresh(tokens.refresh_token ?? '')).rejects.toMatchObject(INVALID);
    await expect(kubectl.userInfo(tokens)).rejects.toMatchObject({ status: 401 });
  });

  test('shown by many at once gives tokens that work to one of them at most', async () => {
    const { browser, kubectl } = await scene();
    const attempt = await kubectl.begin(OFFLINE);
    const { location = '' } = await browser.follow(attempt.url);
    const all = await Promise.allSettled([1, 2, 3, 4].map(() => kubectl.finish(attempt, location)));
    const given = all.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    expect(given.length).toBeLessThanOrEqual(1);
    for (const tokens of given) {
      await expect(kubectl.refresh(tokens.refresh_token ?? '')).rejects.toMatchObject(INVALID);
    }
  });

  test('is worth nothing with another verifier, another client, or another redirect', async () => {
    const { browser, kubectl, web, issuer } = await scene();
    const attempt = await kubectl.begin();
    const { location = '' } = await browser.follow(attempt.url);
    const stolen = { ...attempt, verifier: 'x'.repeat(43) };
    await expect(kubectl.finish(stolen, location)).rejects.toMatchObject(INVALID);
    await expect(web.finish(attempt, location)).rejects.toMatchObject(INVALID);
    const moved = await RelyingParty.discover(issuer, { id: 'kubectl', redirectUri: location });
    const elsewhere = location.replace(':8000', ':9000');
    await expect(moved.finish(attempt, elsewhere)).rejects.toMatchObject(INVALID);
  });
});

describe('a refresh token', () => {
  // covers: OwnedAccessKey.spec.oidcProvider
  test('is an access key whose hash is all that git has', async () => {
    const all = await loggedIn();
    const { token, name, platform } = all;
    expect(token).toMatch(/^gpr_[0-9A-Za-z]{44}$/);
    const { object } = platform.platform.find('ownedaccesskeys', name) ?? {};
    expect(object?.spec).toMatchObject({
      type: 'OIDCRefreshToken',
      user: 'ann',
      ttl: 1_728_000,
      oidcProvider: {
        clientId: 'kubectl',
        nonce: expect.any(String),
        redirectUri: 'http://localhost:8000/',
        scopes: OFFLINE.scope,
      },
    });
    const text = await history(all);
    expect(text).toContain(name);
    expect(text).not.toContain(token);
    // Not even the part that all tokens of the login have in common.
    expect(text).not.toContain(token.slice(4, 20));
    expect(platform.access.authenticate(token)).toMatchObject({
      message: expect.stringContaining('makes no API requests'),
    });
  });

  test('is replaced when it is used, with groups as they are then', async () => {
    const { kubectl, token, platform, name } = await loggedIn();
    await platform.platform.delete('teams', 'ops');
    const next = await kubectl.refresh(token);
    expect(next.claims()?.['groups']).toEqual(['gitplane:user:ann', 'dev']);
    expect(next.claims()).toMatchObject({
      auth_time: expect.any(Number),
      nonce: expect.any(String),
    });
    expect(next.refresh_token).not.toBe(token);
    expect(platform.platform.find('ownedaccesskeys', name)).toBeDefined();
    const third = await kubectl.refresh(next.refresh_token ?? '');
    expect(third.refresh_token).not.toBe(next.refresh_token);
  });

  test('a refresh token that was replaced ends the login when it is shown, after a restart as well', async () => {
    const all = await loggedIn();
    const { kubectl, token, restart } = all;
    const { refresh_token: current = '' } = await kubectl.refresh(token);
    restart();
    await expect(kubectl.refresh(token)).rejects.toMatchObject(INVALID);
    expect(loginsOf(all)).toEqual([]);
    await expect(kubectl.refresh(current)).rejects.toMatchObject(INVALID);
  });

  test('a refresh token that was replaced a moment ago gives the same successor, and later ends the login', async () => {
    const all = await loggedIn();
    const { kubectl, token, setClock } = all;
    const now = Date.now();
    // However long the requests take.
    setClock(() => now);
    const many = await Promise.all([1, 2, 3].map(() => kubectl.refresh(token)));
    const [next = '', ...others] = many.map(({ refresh_token: one }) => one);
    expect(others).toEqual([next, next]);
    expect((await kubectl.refresh(token)).refresh_token).toBe(next);
    setClock(() => now + GRACE_MS + 1000);
    await expect(kubectl.refresh(token)).rejects.toMatchObject(INVALID);
    await expect(kubectl.refresh(next)).rejects.toMatchObject(INVALID);
    expect(loginsOf(all)).toEqual([]);
  });

  test('works after a restart, and with what it may have been told since', async () => {
    const { kubectl, token, restart } = await loggedIn();
    restart();
    const tokens = await kubectl.refresh(token);
    expect(await kubectl.userInfo(tokens)).toMatchObject({ sub: 'ann' });
  });

  test.each<[string, (all: Scene & { name: string }) => Promise<unknown>]>([
    [
      'its key is deleted',
      ({ platform, name }) => platform.platform.delete('ownedaccesskeys', name),
    ],
    [
      'its key is disabled',
      ({ platform, name }) =>
        platform.platform.patch('ownedaccesskeys', name, ({ spec }) => {
          spec.disabled = true;
        }),
    ],
    [
      'its user is disabled',
      ({ platform }) =>
        platform.platform.patch('users', 'ann', ({ spec }) => {
          spec.disabled = true;
        }),
    ],
    [
      'its user voids all tokens',
      ({ platform }) =>
        platform.platform.patch('users', 'ann', ({ spec }) => {
          spec.tokenGeneration = 1;
        }),
    ],
    ['its user is deleted', ({ platform }) => platform.platform.delete('users', 'ann')],
    [
      'another user gets the name',
      async ({ platform }) => {
        await platform.platform.delete('users', 'ann');
        await platform.platform.create('users', { metadata: { name: 'ann' }, spec: {} });
      },
    ],
    ['its client is gone', async ({ configure }) => configure({ enabled: true, clients: [] })],
    ['the provider is switched off', async ({ configure }) => configure({ enabled: false })],
    [
      'its time is over',
      async ({ setClock }) => {
        const now = Date.now();
        setClock(() => now + 1_728_000_000);
      },
    ],
  ])('works no longer when %s, and what came from it neither', async (_what, end) => {
    const all = await loggedIn();
    const tokens = await all.kubectl.refresh(all.token);
    await end(all);
    await expect(all.kubectl.refresh(tokens.refresh_token ?? '')).rejects.toThrow();
    await expect(all.kubectl.userInfo(tokens)).rejects.toThrow();
  });

  test.each([
    ['may not send people there any more', { redirectURIs: ['https://kubectl.example.com/'] }],
    ['got a secret', { clientSecret: 'new', redirectURIs: ['http://localhost:8000/'] }],
  ])('is worth nothing to a client that %s', async (_what, change) => {
    const { kubectl, token, configure } = await loggedIn();
    configure({ enabled: true, clients: [{ clientId: 'kubectl', ...change }] });
    await expect(kubectl.refresh(token)).rejects.toThrow();
  });

  test('is revoked with its login, and by no other client', async () => {
    const all = await loggedIn();
    const { kubectl, web, token } = all;
    const { tokenRevocation } = await import('openid-client');
    await tokenRevocation(web.config, token);
    expect(loginsOf(all)).toHaveLength(1);
    await tokenRevocation(kubectl.config, token);
    expect(loginsOf(all)).toHaveLength(0);
  });

  test.each([
    ['nobody made', 'gpr_00000000000000000000000000000000000000000000'],
    ['is something else', 'hello'],
    ['is empty', ''],
  ])('a refresh token that %s is refused', async (_what, token) => {
    const { kubectl } = await scene();
    await expect(kubectl.refresh(token)).rejects.toThrow();
  });

  test('made up from one that works does not end the login', async () => {
    const all = await loggedIn();
    const { mintAccessKey } = await import('../../src/kinds/credentials/access-key.ts');
    // Another login, since what is in common is not known to others.
    await expect(all.kubectl.refresh(mintAccessKey('gpr'))).rejects.toMatchObject(INVALID);
    await expect(all.kubectl.refresh(`${all.token}x`)).rejects.toMatchObject(INVALID);
    // The login key of the browser is none either.
    await expect(all.kubectl.refresh(await all.login('ann'))).rejects.toMatchObject(INVALID);
    expect(loginsOf(all)).toHaveLength(1);
    await expect(all.kubectl.refresh(all.token)).resolves.toBeDefined();
  });

  // covers: oidc.clients[].name
  test('a refresh token of a client with a secret stays, since no other client can use it, and names the client', async () => {
    const { web, browser, platform } = await scene();
    const { refresh_token: token = '' } = await web.signIn(browser, OFFLINE);
    const [name = ''] = loginsOf({ platform });
    const { object } = platform.platform.find('ownedaccesskeys', name) ?? {};
    expect(object?.spec?.['displayName']).toBe('Login at Web');
    expect((await web.refresh(token)).refresh_token ?? token).toBe(token);
  });

  test('a refresh token of the oldest login makes room when a user has too many', async () => {
    const all = await loggedIn();
    for (let count = 0; count < 20; count++) await all.kubectl.signIn(all.browser, OFFLINE);
    expect(loginsOf(all)).toHaveLength(20);
  });

  test('is not for clients that do not ask, nor in a key that has a scope', async () => {
    const all = await scene();
    expect((await all.kubectl.signIn(all.browser)).refresh_token).toBeUndefined();
    const { name, token, platform, kubectl } = await loggedIn();
    await platform.platform.patch('ownedaccesskeys', name, ({ spec }) => {
      spec.scope = { projects: [{ project: 'a' }] };
    });
    await expect(kubectl.refresh(token)).rejects.toMatchObject(INVALID);
  });
});

describe('introspection', () => {
  test('tells a client with a secret of its own tokens, and of no others', async () => {
    const { web, kubectl, browser, platform } = await scene();
    const own = await web.signIn(browser, OFFLINE);
    const other = await kubectl.signIn(browser, OFFLINE);
    expect(await web.isActive(own.access_token)).toBe(true);
    expect(await web.isActive(own.refresh_token ?? '')).toBe(true);
    expect(await web.isActive(other.access_token)).toBe(false);
    expect(await kubectl.isActive(other.access_token)).toBe(false);
    await platform.platform.patch('users', 'ann', ({ spec }) => {
      spec.disabled = true;
    });
    expect(await web.isActive(own.access_token)).toBe(false);
    expect(await web.isActive(own.refresh_token ?? '')).toBe(false);
  });
});
