/** The built-in OpenID provider in the built daemon: over TLS, switched by the configuration, and over a restart. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Browser, KUBECTL, RelyingParty, SECRET, WEB } from '../oidc-server/running.ts';
import { API, type Daemon, scratchDir, startDaemon } from '../support/daemon.ts';
import { loginKey } from '../support/login-key.ts';
import { freePort } from '../support/machine.ts';
import { PASSWORD, passwordHash } from './passwords.ts';

let daemon: Daemon;
let ca: string;
let issuer: string;
const logs: string[] = [];

async function configure(config: object): Promise<void> {
  const body = { spec: { raw: JSON.stringify(config) } };
  const options = { body, type: 'application/merge-patch+json' };
  const changed = await daemon.call('PATCH', `${API}/config/platform`, options);
  expect(changed.code, changed.text).toBe(200);
}

const audited = { enabled: true, path: 'audit.log', level: 4 };

async function loginOf(user: string): Promise<string> {
  return await loginKey(daemon, user);
}

async function keysOf(type: string): Promise<{ metadata: { name: string } }[]> {
  const { items } = (await daemon.call('GET', `${API}/ownedaccesskeys`)).json();
  return items.filter(({ spec }: { spec: { type?: string } }) => spec.type === type);
}

describe('the daemon as an OpenID provider', () => {
  let args: string[];
  let dataDir: string;

  beforeAll(async () => {
    const port = await freePort();
    dataDir = join(scratchDir(), 'data');
    issuer = `https://127.0.0.1:${port}/oidc`;
    args = ['--listen', `127.0.0.1:${port}`];
    daemon = await startDaemon({ dataDir, args });
    ca = readFileSync(join(dataDir, 'tls/ca.crt'), 'utf8');
    const spec = { groups: ['dev'], passwordHash: passwordHash(PASSWORD) };
    const user = { metadata: { name: 'kim' }, spec };
    const made = await daemon.call('POST', `${API}/users`, { body: user });
    expect(made.code, made.text).toBe(201);
  });

  afterAll(async () => {
    await daemon?.stop();
  });

  // covers: oidc.enabled
  test('is one as soon as the configuration says so, and none when it does not', async () => {
    const discovery = '/oidc/.well-known/openid-configuration';
    const metadata = '/.well-known/oauth-authorization-server/oidc';
    await configure({ oidc: { enabled: false, clients: [WEB] } });
    for (const path of [discovery, metadata, '/oidc/auth', '/oidc/token']) {
      expect((await daemon.call('GET', path, { token: null })).code, path).toBe(404);
    }
    await configure({ oidc: { enabled: true, clients: [WEB, KUBECTL] }, audit: audited });
    const found = await daemon.call('GET', discovery, { token: null });
    expect(found.json()).toMatchObject({
      issuer,
      authorization_endpoint: `${issuer}/auth`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      end_session_endpoint: `${issuer}/logout`,
      scopes_supported: expect.arrayContaining(['openid', 'groups', 'offline_access']),
      code_challenge_methods_supported: ['S256'],
    });
    expect((await daemon.call('GET', metadata, { token: null })).json()).toEqual(found.json());
    // Nobody gets to say where clients send people.
    const headers = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'http' };
    const pinned = await daemon.call('GET', discovery, { token: null, headers });
    expect(pinned.text).not.toContain('evil');
  });

  // covers: auth.customHttpHeaders
  test('has the headers of the configuration on every answer', async () => {
    const auth = { customHttpHeaders: { 'X-Own': '1', 'Cache-Control': 'public' } };
    await configure({ oidc: { enabled: true, clients: [WEB, KUBECTL] }, audit: audited, auth });
    const answers = {
      discovery: await daemon.call('GET', '/oidc/.well-known/openid-configuration', {
        token: null,
      }),
      keys: await daemon.call('GET', '/oidc/jwks', { token: null }),
      token: await daemon.call('POST', '/oidc/token', { token: null }),
      interaction: await daemon.call('GET', '/oidc/interaction/none', { token: null }),
      nothing: await daemon.call('GET', '/oidc/none', { token: null }),
    };
    for (const [name, { headers }] of Object.entries(answers)) {
      expect(headers['x-own'], name).toBe('1');
    }
    // Tokens are never kept, whatever the configuration says.
    expect(answers.token.headers['cache-control']).toContain('no-store');
    await configure({ oidc: { enabled: true, clients: [WEB, KUBECTL] }, audit: audited });
    const after = await daemon.call('GET', '/oidc/jwks', { token: null });
    expect(after.headers).not.toHaveProperty('x-own');
  });

  test('has people sign in on the pages of the platform, and again where a client wants it', async () => {
    const browser = new Browser(ca);
    const web = await RelyingParty.web(issuer, ca);
    /** Through the page that is shown, to where it leads. */
    const through = async (url: string): Promise<string> => {
      const { location: page = '' } = await browser.follow(url);
      const shown = await browser.get(page);
      expect(shown.text).toContain('action="/auth/password/login"');
      const returnTo = new URL(page).searchParams.get('returnTo') ?? '';
      const form = { username: 'kim', password: PASSWORD, returnTo };
      const { location: next = '' } = await browser.post(
        new URL('/auth/password/login', page).href,
        form,
      );
      return (await browser.follow(next)).location ?? '';
    };
    for (const parameters of [{}, { prompt: 'login' }]) {
      const attempt = await web.begin(parameters);
      const tokens = await web.finish(attempt, await through(attempt.url));
      expect(tokens.claims()).toMatchObject({
        sub: 'kim',
        groups: expect.arrayContaining(['dev']),
      });
    }
    expect(browser.cookieNames.filter((name) => !/^__(Host|Secure)-/.test(name))).toEqual([]);
  });

  test('serves clients of both sorts, keeps refresh tokens over a restart, and shows no secret', async () => {
    const browser = new Browser(ca);
    const key = await loginOf('kim');
    browser.signIn(key);
    const web = await RelyingParty.web(issuer, ca);
    expect((await web.signIn(browser)).claims()).toMatchObject({ sub: 'kim' });
    const kubectl = await RelyingParty.kubectl(issuer, ca);
    const scope = 'openid groups offline_access';
    const { refresh_token: first = '', id_token: identity = '' } = await kubectl.signIn(browser, {
      scope,
    });
    const [kept] = await keysOf('OIDCRefreshToken');
    expect(kept).toMatchObject({
      spec: { user: 'kim', oidcProvider: { clientId: 'kubectl', scopes: scope } },
    });
    expect(JSON.stringify(kept)).not.toContain(first);

    logs.push(daemon.output());
    expect(await daemon.stop()).toBe(0);
    daemon = await startDaemon({ dataDir, args });
    const tokens = await kubectl.refresh(first);
    const { refresh_token: second = '' } = tokens;
    expect(tokens.claims()).toMatchObject({ sub: 'kim', groups: expect.arrayContaining(['dev']) });
    expect(second).not.toBe(first);
    await daemon.call('DELETE', `${API}/ownedaccesskeys/${kept?.metadata.name}`);
    await expect(kubectl.refresh(second)).rejects.toMatchObject({ error: 'invalid_grant' });

    await configure({ oidc: { enabled: true, clients: [WEB, KUBECTL] } });
    const written = [
      ...logs,
      daemon.output(),
      readFileSync(join(dataDir, 'audit.log'), 'utf8'),
      (await daemon.git(['--git-dir', join(dataDir, 'repo.git'), 'log', '-p'], dataDir)).stdout,
    ];
    const config = JSON.stringify(WEB);
    for (const secret of [first, second, identity, key, web.lastCode, kubectl.lastCode]) {
      expect(secret.length).toBeGreaterThan(20);
      for (const text of written) expect(text.replaceAll(config, '')).not.toContain(secret);
    }
    for (const text of written.slice(0, -1)) expect(text).not.toContain(SECRET);
    const lines = written[2]?.trim().split('\n') ?? [];
    const events = lines.map((line) => JSON.parse(line) as AuditLine);
    const of = (path: string): AuditLine[] =>
      events.filter(({ requestURI }) => requestURI.startsWith(path));
    expect(of('/oidc/auth').map(({ user }) => user.username)).toContain('kim');
    expect(of('/oidc/token').map(({ annotations }) => JSON.stringify(annotations))).toEqual(
      expect.arrayContaining([expect.stringMatching(/web.*kim/), expect.stringMatching(/kubectl/)]),
    );
  });
});

interface AuditLine {
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly annotations?: Readonly<Record<string, string>>;
}
