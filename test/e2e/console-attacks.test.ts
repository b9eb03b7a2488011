/**
 * Attacks on the session of the console, in a browser: pages of another site, and of another port of the
 * same host, which gets the cookie. Each one must change nothing, read nothing and end nothing.
 */
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HAS_BROWSER, openConsole, unexpected, useBrowser } from '../support/browser.ts';
import { API, type Daemon, startDaemon } from '../support/daemon.ts';
import { PASSWORD, passwordHash } from './passwords.ts';

const TEAM = `${API}/teams/storefront`;
const EVIL_TEAM = JSON.stringify({ metadata: { name: 'evil' }, spec: { displayName: 'Evil' } });

/** Scripts that run in the page of the attacker, with `target`: the address of the daemon. */
const ATTACKS: readonly (readonly [name: string, script: string])[] = [
  ['a form of URL parameters', form('application/x-www-form-urlencoded')],
  ['a form of plain text that is JSON', form('text/plain')],
  ['a form of parts', form('multipart/form-data')],
  [
    'a form that names another method',
    form('application/x-www-form-urlencoded', '?_method=DELETE'),
  ],
  ['a form that signs another person in', signIn('/auth/password/login')],
  ['a form that signs out', signIn('/auth/logout')],
  ['a form that approves a program', signIn('/device')],
  ['a POST without CORS', send({ method: 'POST', mode: 'no-cors', body: EVIL_TEAM })],
  ['a beacon', `navigator.sendBeacon(target + '${API}/teams', ${JSON.stringify(EVIL_TEAM)})`],
  [
    'a POST of JSON',
    send({ method: 'POST', headers: { 'content-type': 'application/json' }, body: EVIL_TEAM }),
  ],
  [
    'a POST with a guessed token',
    send({
      method: 'POST',
      headers: { 'x-csrf-token': 'x'.repeat(43), 'content-type': 'application/json' },
      body: EVIL_TEAM,
    }),
  ],
  [
    'a POST that is meant as DELETE',
    send({ method: 'POST', headers: { 'x-http-method-override': 'DELETE' } }, TEAM),
  ],
  ['a PUT', send({ method: 'PUT', body: '{}' }, TEAM)],
  [
    'a PATCH',
    send(
      {
        method: 'PATCH',
        body: '{"spec":{"displayName":"Evil"}}',
        headers: { 'content-type': 'application/merge-patch+json' },
      },
      TEAM,
    ),
  ],
  ['a DELETE', send({ method: 'DELETE' }, TEAM)],
  [
    'a rollback',
    send({ method: 'POST', mode: 'no-cors', body: '{"revision":"HEAD"}' }, `${TEAM}/rollback`),
  ],
  ['an approval', send({ method: 'POST', mode: 'no-cors', body: '{}' }, '/sync/approve')],
  ['a read', send({ mode: 'cors' }, TEAM)],
  ['a read of the token', send({ mode: 'cors' }, '/auth/session')],
  ['a read of the page', send({ mode: 'cors' }, '/console')],
  ['a GET that is meant as DELETE', send({ mode: 'no-cors' }, `${TEAM}?_method=DELETE`)],
  ['an image', element('img', 'src', TEAM)],
  ['a script', element('script', 'src', `${API}/teams`)],
  [
    'a style sheet',
    `const link = document.createElement('link'); link.rel = 'stylesheet'; link.href = target + '/console'; document.head.append(link)`,
  ],
  ['an image that signs out', element('img', 'src', '/auth/logout')],
  ['an image that uses a link', element('img', 'src', '/auth/link?code=guess')],
  [
    'an event stream',
    `await new Promise((end) => { const stream = new EventSource(target + '${API}/teams?watch=true', { withCredentials: true }); stream.onmessage = ({ data }) => { stolen.push(data); end(); }; stream.onerror = end; })`,
  ],
  [
    'a WebSocket',
    `await new Promise((end) => { const socket = new WebSocket(target.replace('https', 'wss') + '${API}/teams?watch=true'); socket.onmessage = ({ data }) => { stolen.push(String(data)); end(); }; socket.onerror = end; socket.onclose = end; })`,
  ],
  [
    'a frame',
    `const frame = document.createElement('iframe'); frame.src = target + '/console'; document.body.append(frame); await new Promise((end) => { frame.onload = end; frame.onerror = end; }); try { stolen.push(frame.contentDocument.body.innerText); } catch {}`,
  ],
  [
    'a frame of the sign-in page',
    `const frame = document.createElement('iframe'); frame.src = target + '/login'; document.body.append(frame); await new Promise((end) => { frame.onload = end; frame.onerror = end; })`,
  ],
];

function form(type: string, query = ''): string {
  return submit(`${API}/teams${query}`, type, {
    '{"metadata":{"name":"evil"},"spec":{},"a":"': '"}',
  });
}

function signIn(path: string): string {
  const fields = {
    username: 'mallory',
    password: PASSWORD,
    user_code: 'AAAA-BBBB',
    action: 'approve',
  };
  return submit(path, 'application/x-www-form-urlencoded', fields);
}

function submit(path: string, type: string, fields: Readonly<Record<string, string>>): string {
  return `const frame = document.createElement('iframe'); frame.name = 'sink'; document.body.append(frame);
    const form = document.createElement('form'); Object.assign(form, { method: 'POST', enctype: ${JSON.stringify(type)}, target: 'sink', action: target + ${JSON.stringify(path)} });
    for (const [name, value] of Object.entries(${JSON.stringify(fields)})) { const input = document.createElement('input'); Object.assign(input, { type: 'hidden', name, value }); form.append(input); }
    document.body.append(form);
    await new Promise((end) => { frame.onload = end; form.submit(); })`;
}

function send(init: object, path = `${API}/teams`): string {
  const all = JSON.stringify({ credentials: 'include', ...init });
  return `await fetch(target + ${JSON.stringify(path)}, ${all}).then(async (answer) => stolen.push(await answer.text()), () => undefined)`;
}

function element(tag: string, attribute: string, path: string): string {
  return `await new Promise((end) => { const element = document.createElement('${tag}'); element.onload = end; element.onerror = end; element.${attribute} = target + ${JSON.stringify(path)}; document.body.append(element); })`;
}

describe.skipIf(!HAS_BROWSER)('attacks on the session of the console', () => {
  const browser = useBrowser();
  let daemon: Daemon;
  const origins: Record<'another site' | 'another port', string> = {
    'another site': '',
    'another port': '',
  };
  const servers: { close(): unknown }[] = [];

  beforeAll(async () => {
    daemon = await startDaemon();
    const mallory = {
      metadata: { name: 'mallory' },
      spec: { passwordHash: passwordHash(PASSWORD) },
    };
    const made = await daemon.call('POST', `${API}/users`, { body: mallory });
    expect(made.code, made.text).toBe(201);
    const [key, cert] = ['server.key', 'server.crt'].map((name) =>
      readFileSync(join(daemon.dataDir, 'tls', name)),
    );
    const page = (
      _request: unknown,
      response: { end(text: string): void; setHeader(name: string, value: string): unknown },
    ): void => {
      response.setHeader('content-type', 'text/html');
      response.end('<!doctype html><title>Evil</title><body>');
    };
    const secure = createServer({ key, cert }, page);
    const plain = createHttpServer(page);
    for (const server of [secure, plain]) {
      await new Promise<void>((resolve) => server.listen(0, resolve));
      servers.push(server);
    }
    origins['another port'] = `https://127.0.0.1:${(secure.address() as AddressInfo).port}`;
    origins['another site'] = `http://localhost:${(plain.address() as AddressInfo).port}`;
  });

  afterAll(async () => {
    for (const server of servers) server.close();
    await daemon?.stop();
  });

  const sessionOf = async (context: BrowserContext): Promise<string | undefined> =>
    (await context.cookies(daemon.url)).find(({ name }) => name === '__Host-session')?.value;

  /** Everything that an attack could change. */
  async function state(context: BrowserContext): Promise<unknown> {
    const [commits, teams, sync] = await Promise.all(
      ['/commits?limit=1', `${API}/teams`, `${API}/ownedaccesskeys`].map((path) =>
        daemon.call('GET', path),
      ),
    );
    return [
      commits?.json().items[0].revision,
      teams
        ?.json()
        .items.map(({ metadata, spec }: { metadata: { name: string }; spec: unknown }) => [
          metadata.name,
          spec,
        ]),
      sync?.json().items.length,
      await sessionOf(context),
    ];
  }

  async function isSignedIn(page: Page): Promise<boolean> {
    await page.goto(`${daemon.url}/console`);
    return (await page.locator('h1').first().innerText()) === 'Overview';
  }

  test.each(['another site', 'another port'] as const)(
    'a page of %s changes, reads and ends nothing',
    async (from) => {
      const { page, context } = await openConsole(browser, daemon, '/console');
      const before = await state(context);
      const evil = await context.newPage();
      for (const [name, script] of ATTACKS) {
        await evil.goto(origins[from]);
        const stolen = await evil.evaluate<string[]>(
          `(async (target) => { const stolen = []; ${script}; return stolen; })(${JSON.stringify(daemon.url)})`,
        );
        expect
          .soft(stolen.join('').slice(0, 500), `${name} read`)
          .not.toMatch(/storefront|csrfToken|Evil|Overview/);
        expect.soft(await state(context), `${name} changed`).toEqual(before);
        for (const frame of evil.frames().slice(1)) {
          const shown = await frame
            .locator('body')
            .innerText()
            .catch(() => '');
          expect.soft(shown, `${name} is framed`).not.toMatch(/Overview|Sign in|Signed in/);
        }
      }
      expect(await isSignedIn(page)).toBe(true);
    },
  );

  test('a window of the attacker learns nothing of the console that it opened', async () => {
    const { context } = await openConsole(browser, daemon, '/console');
    const evil = await context.newPage();
    await evil.goto(origins['another port']);
    const opened = context.waitForEvent('page');
    await evil.evaluate(`window.victim = window.open(${JSON.stringify(`${daemon.url}/console`)})`);
    await (await opened).locator('main h1').waitFor();
    // The policy of the console cuts the two windows from each other.
    expect(await evil.evaluate('window.victim.closed')).toBe(true);
    expect(await (await opened).evaluate('window.opener')).toBe(null);
  });

  test('a link to the sign-out page needs the click of the person', async () => {
    const { page, context } = await openConsole(browser, daemon, '/console');
    const evil = await context.newPage();
    await evil.goto(origins['another site']);
    await evil.evaluate(`location.href = ${JSON.stringify(`${daemon.url}/auth/logout`)}`);
    await evil.waitForURL(`${daemon.url}/**`);
    expect(await isSignedIn(page)).toBe(true);
  });

  test('a session that the attacker planted before the sign-in ends there', async () => {
    const planted = (
      await daemon.call('POST', `${API}/ownedaccesskeys`, { body: { spec: { user: 'mallory' } } })
    ).json().spec.key;
    const { page, context } = await browser.visit();
    const cookie = { httpOnly: true, secure: true, sameSite: 'Lax' as const };
    await context.addCookies([
      { name: '__Host-session', value: planted, url: daemon.url, ...cookie },
    ]);
    const code = /\/auth\/link\?code=\S+/.exec(daemon.output())?.[0] ?? '';
    await page.goto(`${daemon.url}${code}`);
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    expect(await sessionOf(context)).not.toBe(planted);
    const who = await page.evaluate<{ user: string }>(
      `fetch('/auth/session').then((answer) => answer.json())`,
    );
    expect(who.user).toBe('admin');

    const other = await browser.visit();
    await other.page.goto(`${daemon.url}${code}`);
    await other.page.getByText('This link does not work any more').waitFor();
    expect(await sessionOf(other.context)).toBeUndefined();

    // A copy of the cookie is of no use after the person signed out.
    const copy = await sessionOf(context);
    await page.getByLabel('Account of admin').click();
    await page.getByRole('link', { name: 'Sign out' }).click();
    await page.getByText('You are signed out').waitFor();
    const headers = { cookie: `__Host-session=${copy}` };
    expect((await daemon.call('GET', TEAM, { token: null, headers })).code).toBe(401);
  });

  test.each([
    ['//evil.example', '/console'],
    ['https://evil.example', '/console'],
    ['/\\evil.example', '/console'],
    ['/%5Cevil.example', '/console'],
    ['/%2f/evil.example', '/console'],
    ['/.//evil.example', '/console'],
    ['/\t/evil.example', '/console'],
    ['javascript:alert(1)', '/console'],
    ['data:text/html,<script>1</script>', '/console'],
    ['https:evil.example', '/console'],
    ['///evil.example', '/console'],
    ['/console/history?a=//evil.example', '/console/history?a=//evil.example'],
  ])('the page to return to is on this host: %s', async (returnTo, expected) => {
    const { page } = await browser.visit();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).host));
    await page.goto(`${daemon.url}/login?${new URLSearchParams({ returnTo })}`);
    await page.getByLabel('User name').fill('mallory');
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.locator('main h1').waitFor();
    const { pathname, search, origin } = new URL(page.url());
    expect(origin).toBe(daemon.url);
    expect(pathname + search).toBe(expected);
    expect(new Set(asked)).toEqual(new Set([new URL(daemon.url).host]));
  });

  test('an address of the console runs no script, and its links stay on this host', async () => {
    const { page, complaints } = await openConsole(browser, daemon, '/console');
    for (const path of [
      '/console//evil.example',
      '/console/%3Cimg%20src=x%20onerror=document.title=1%3E',
      '/console/objects/%3Cscript%3Edocument.title=1%3C%2Fscript%3E',
      '/console/objects/teams/-/%22%3E%3Cimg%20src=x%20onerror=document.title=1%3E',
      '/console?at=%3Cimg%20src=x%20onerror=document.title=1%3E',
      '/console/history?team=%3Cimg%20src=x%20onerror=document.title=1%3E',
      '/console/plan?of=%3Cimg%20src=x%20onerror=document.title=1%3E',
      '/console/tenants/%3Cimg%20src=x%20onerror=document.title=1%3E/playground',
    ]) {
      await page.goto(`${daemon.url}${path}`);
      await page.locator('h1').first().waitFor();
      expect.soft(await page.title(), path).not.toBe('1');
      expect.soft(await page.locator('main img, main script').count(), path).toBe(0);
      const hosts = await page
        .locator('main a[href]')
        .evaluateAll((links) => links.map((link) => (link as unknown as { host: string }).host));
      const { host } = new URL(daemon.url);
      expect
        .soft(
          hosts.filter((one) => one !== host),
          path,
        )
        .toEqual([]);
    }
    expect(unexpected(complaints, 400, 404)).toEqual([]);
  });

  test('a script of the configuration needs customJavaScript', async () => {
    const { page } = await openConsole(browser, daemon, '/console');
    const scripts = await page
      .locator('script')
      .evaluateAll((all) =>
        all.map((one) => new URL((one as unknown as { src: string }).src).pathname),
      );
    expect(scripts).toEqual([expect.stringMatching(/^\/console\/assets\//)]);
    const refused = await page.evaluate<string[]>(`(async () => {
      const refused = [];
      addEventListener('securitypolicyviolation', ({ effectiveDirective }) => refused.push(effectiveDirective));
      const add = (tag, of) => document.body.append(Object.assign(document.createElement(tag), of));
      add('script', { textContent: 'document.title = 1' });
      add('script', { src: 'https://evil.example/x.js' });
      add('img', { src: 'https://evil.example/x.png' });
      add('style', { textContent: 'body { display: none }' });
      add('iframe', { src: 'https://evil.example' });
      await fetch('https://evil.example').catch(() => undefined);
      document.body.insertAdjacentHTML('beforeend', '<p onclick="document.title = 1" style="color: red">x</p>');
      await new Promise((end) => setTimeout(end, 200));
      return refused;
    })()`);
    expect(new Set(refused)).toEqual(
      new Set([
        'script-src-elem',
        'img-src',
        'style-src-elem',
        'frame-src',
        'connect-src',
        'script-src-attr',
        'style-src-attr',
      ]),
    );
    expect(await page.title()).not.toBe('1');
  });
});
