/** The console in a browser, on the example platform. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import {
  expectAccessible,
  HAS_BROWSER,
  unexpected,
  useBrowser,
  type Visit,
} from '../support/browser.ts';
import { API, type Daemon, startDaemon } from '../support/daemon.ts';

describe.skipIf(!HAS_BROWSER)('the console', () => {
  const browser = useBrowser();
  let daemon: Daemon;

  beforeAll(async () => {
    daemon = await startDaemon();
  });
  afterAll(async () => {
    await daemon?.stop();
  });

  async function open(
    path: string,
    options: Parameters<typeof browser.visit>[0] = {},
  ): Promise<Visit> {
    const visit = await browser.visit(options);
    const cookie = { httpOnly: true, secure: true, sameSite: 'Lax' as const };
    await visit.context.addCookies([
      { name: '__Host-session', value: daemon.token, url: daemon.url, ...cookie },
    ]);
    await visit.page.goto(`${daemon.url}${path}`);
    return visit;
  }

  const heading = (page: Page, name: string): Promise<void> =>
    page.getByRole('heading', { level: 1, name, exact: true }).waitFor();

  async function create(path: string, body: object): Promise<void> {
    const answer = await daemon.call('POST', `${API}/${path}`, { body });
    expect(answer.code, answer.text).toBe(201);
  }

  const team = (name: string, spec: object = {}): Promise<void> =>
    create('teams', { metadata: { name }, spec: { displayName: name, ...spec } });

  const PAGES = [
    '/console',
    '/console/objects/sharedsecrets',
    '/console/objects/teams/-/storefront',
    '/console/objects/sharedsecrets/payments/card-gateway',
    '/console/objects/teams/-/storefront?tab=yaml',
    '/console/objects/teams/-/storefront?tab=history',
    '/console/objects/teams/-/storefront?tab=events',
    '/console/objects/teams/-/storefront?tab=edit',
    '/console/objects/teams?new=1',
    '/console/history',
  ];

  test.each(
    (['light', 'dark'] as const).flatMap((colorScheme) =>
      [1280, 390].map((width) => [colorScheme, width] as const),
    ),
  )('everyone can use every page, when it is %s and %i pixels wide', async (colorScheme, width) => {
    const { page, complaints } = await open('/console', {
      colorScheme,
      viewport: { width, height: 800 },
    });
    for (const path of PAGES) {
      await page.goto(`${daemon.url}${path}`);
      await page.locator('main h1').waitFor();
      await page.locator('.panel, .vtable').first().waitFor();
      await expectAccessible(page);
      const isCut = await page.evaluate(
        'document.documentElement.scrollWidth > document.documentElement.clientWidth',
      );
      expect(isCut, `${path} is wider than the window`).toBe(false);
    }
    expect(unexpected(complaints, 400, 409, 422)).toEqual([]);
  });

  test('the printed link leads to the start page, which reports a healthy platform', async () => {
    const { page, complaints } = await browser.visit();
    const [link = ''] = /https:\/\/\S+\/auth\/link\?code=\S+/.exec(daemon.output()) ?? [];
    await page.goto(link);
    await page.getByRole('heading', { name: 'All is well' }).waitFor();
    expect(page.url()).toBe(`${daemon.url}/console`);
    expect(await page.evaluate('document.cookie')).toBe('');
    expect(unexpected(complaints, 400, 409, 422)).toEqual([]);
  });

  test('a change elsewhere is shown without a reload', async () => {
    const { page } = await open('/console/objects/teams');
    await page.getByRole('link', { name: 'storefront' }).waitFor();
    await team('appears');
    await page.getByRole('link', { name: 'appears' }).waitFor();
    const { code } = await daemon.call('DELETE', `${API}/teams/appears`);
    expect(code).toBe(200);
    await page.getByRole('link', { name: 'appears' }).waitFor({ state: 'detached' });
  });

  test('a refused push and a degraded object are on the start page', async () => {
    const clone = await daemon.clone();
    writeFileSync(join(clone, 'teams', 'broken.yaml'), 'kind: Team\nspec: [\n');
    await daemon.git(['add', '.'], clone);
    await daemon.git(['commit', '-qm', 'Break it'], clone);
    const { code } = await daemon.git(['push', '-q'], clone);
    expect(code).not.toBe(0);
    const { page } = await open('/console');
    await page.getByText('refused').waitFor();
    await page.getByText('teams/broken.yaml').first().waitFor();
  });

  test('the field of the search has the focus before the next key', async () => {
    const { page } = await open('/console');
    await heading(page, 'Overview');
    const focused = await page.evaluate(`new Promise((resolve) => {
      dispatchEvent(new KeyboardEvent('keydown', { key: '/' }));
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => resolve(document.activeElement?.getAttribute('role'));
      port2.postMessage(undefined);
    })`);
    expect(focused).toBe('combobox');
  });

  test('objects are found, opened and remembered by keyboard alone', async () => {
    const { page } = await open('/console');
    await heading(page, 'Overview');
    await page.keyboard.press('/');
    await page.keyboard.type('kind:team store');
    // Results of the first letters have others in front.
    await page.getByRole('option', { name: /storefront/, selected: true }).waitFor();
    await page.keyboard.press('Enter');
    await heading(page, 'storefront');
    await page.keyboard.press('/');
    await page.getByRole('option', { name: /storefront/ }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    expect(await page.getByText('teams/storefront.yaml:1').innerText()).toBe(
      'teams/storefront.yaml:1',
    );
  });

  test('values of secrets are hidden until they are asked for', async () => {
    const path = '/console/objects/sharedsecrets/payments/card-gateway';
    const { page } = await open(path);
    await page.getByText('merchant-id').waitFor();
    const text = (): Promise<string> => page.locator('main').innerText();
    expect(await text()).not.toContain('example-merchant');
    await page.getByRole('button', { name: 'Show' }).first().click();
    await expect.poll(text).toContain('example-merchant');
    await page.goto(`${daemon.url}${path}?tab=edit`);
    await page.getByText('The server accepts it').waitFor();
    expect(await text()).not.toContain('ZXhhbXBsZS');
  });

  async function type(page: Page, from: string, to: string): Promise<void> {
    await page.locator('.cm-content').click();
    await page.keyboard.press('Control+End');
    const lines = page.locator('.cm-line');
    const line = lines.filter({ hasText: from }).first();
    await line.click();
    await page.keyboard.press('Home');
    await page.keyboard.press('Shift+End');
    await page.keyboard.insertText(to);
  }

  test('an edit shows problems and the bytes, and becomes a commit with its reason', async () => {
    await team('edited', { description: 'before' });
    const { page, complaints } = await open('/console/objects/teams/-/edited?tab=edit');
    await page.getByText('The server accepts it').waitFor();
    await type(page, 'description: before', 'descriptoin: after');
    await page
      .getByText(/spec\.descriptoin/)
      .first()
      .waitFor();
    await type(page, 'descriptoin: after', 'description: after');
    await page.locator('.line.added', { hasText: 'description: after' }).waitFor();
    await page.getByLabel('Reason').first().fill('Größer');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(/edited$/);
    await page.getByText('after', { exact: true }).waitFor();
    const [commit] = (await daemon.call('GET', '/commits?limit=1')).json().items;
    expect(commit.subject).toBe('update Team "edited"');
    expect(commit.message).toContain('Größer');
    expect(unexpected(complaints, 400, 409, 422)).toEqual([]);
  });

  test('the effect of an edit names who gains access, before it is saved', async () => {
    await team('guarded', { users: ['ada'] });
    const { page } = await open('/console/objects/teams/-/guarded?tab=edit');
    await page.getByText('The server accepts it').waitFor();
    await type(page, '- ada', '- deploy-bot');
    const effect = page.locator('.panel', {
      has: page.getByRole('heading', { name: 'Effect', exact: true }),
    });
    await effect.getByText('1 opened, 1 closed').waitFor();
    const text = await effect.innerText();
    expect(text).toMatch(/access opens\s+User deploy-bot: the rights of gitplane:team:guarded/);
    expect(text).toMatch(/access closes\s+User ada: the rights of gitplane:team:guarded/);
    const { spec } = (await daemon.call('GET', `${API}/teams/guarded`)).json();
    expect(spec.users).toEqual(['ada']);
  });

  test('the form and the YAML edit one text, and comments stay', async () => {
    const made = await daemon.call('POST', `${API}/namespaces/payments/sharedsecrets`, {
      body: { metadata: { name: 'formed' }, spec: { data: { token: 'c2VjcmV0LXRva2Vu' } } },
    });
    expect(made.code, made.text).toBe(201);
    await team('formed', { description: 'before', users: ['ada'] });
    const { page, complaints } = await open('/console/objects/teams/-/formed?tab=edit');
    await page.getByText('The server accepts it').waitFor();
    await type(page, 'description: before', 'description: before # why');
    await page.getByLabel('Description', { exact: true }).fill('after');
    await page.getByLabel('Users 1', { exact: true }).fill('deploy-bot');
    await page.getByRole('button', { name: 'Add to users' }).click();
    await page.getByLabel('Users 2', { exact: true }).fill('ada');
    await page.getByLabel('New key of labels').fill('tier');
    await page.keyboard.press('Enter');
    await page.getByLabel('Labels tier', { exact: true }).fill('gold');
    await page.locator('.line.added', { hasText: 'tier: gold' }).waitFor();
    const lines = await page.locator('.cm-line').allInnerTexts();
    expect(lines.join('\n')).toContain('description: after # why');
    expect(lines.join('\n')).toMatch(/- deploy-bot\n\s+- ada/);
    await page.getByRole('button', { name: 'Form', exact: true }).click();
    await page.locator('.editor').waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'Both', exact: true }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(/formed$/);
    const { spec, metadata } = (await daemon.call('GET', `${API}/teams/formed`)).json();
    expect(spec).toMatchObject({ description: 'after', users: ['deploy-bot', 'ada'] });
    expect(metadata.labels).toEqual({ tier: 'gold' });
    const source = (await daemon.call('GET', `${API}/teams/formed/source`)).json();
    expect(source.text).toContain('description: after # why');
    expect(unexpected(complaints, 400, 409, 422)).toEqual([]);
  });

  test('the form adds a secret with a generated value that is not shown', async () => {
    const path = '/console/objects/sharedsecrets/payments/formed?tab=edit';
    const { page } = await open(path);
    await page.getByText('The server accepts it').waitFor();
    await page.getByLabel('New key of data').fill('fresh');
    await page.getByRole('button', { name: 'Add with a generated value' }).click();
    await page.getByText('a new value is set').waitFor();
    const text = (): Promise<string> => page.locator('main').innerText();
    expect(await text()).not.toContain('secret-token');
    await page.getByRole('button', { name: 'Show spec.data.token' }).click();
    await expect.poll(text).toContain('secret-token');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(/formed$/);
    const { spec } = (
      await daemon.call('GET', `${API}/namespaces/payments/sharedsecrets/formed`)
    ).json();
    expect(Object.keys(spec.data).sort()).toEqual(['fresh', 'token']);
    expect(spec.data.token).toBe('c2VjcmV0LXRva2Vu');
    expect(Buffer.from(spec.data.fresh, 'base64').length).toBeGreaterThan(20);
  });

  test('a conflict shows both values, takes over changes of others, and is saved again', async () => {
    await team('disputed', { description: 'one', username: 'disputed' });
    const { page } = await open('/console/objects/teams/-/disputed?tab=edit');
    await page.getByText('The server accepts it').waitFor();
    await type(page, 'description: one', 'description: mine');
    await page.locator('.line.added', { hasText: 'mine' }).waitFor();
    const patch = { spec: { description: 'theirs', displayName: 'Renamed' } };
    const changed = await daemon.call('PATCH', `${API}/teams/disputed`, {
      body: patch,
      type: 'application/merge-patch+json',
    });
    expect(changed.code).toBe(200);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'Another change was faster' }).waitFor();
    expect(await page.locator('.conflicts').innerText()).toMatch(/"mine"[\s\S]*"theirs"/);
    await page.getByRole('button', { name: 'Take theirs' }).click();
    await type(page, 'description: theirs', 'description: both');
    await page.locator('.line.added', { hasText: 'both' }).waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(/disputed$/);
    await page.getByText('both', { exact: true }).waitFor();
    const { spec } = (await daemon.call('GET', `${API}/teams/disputed`)).json();
    expect(spec).toMatchObject({ description: 'both', displayName: 'Renamed' });
  });

  test('text that is typed while the other change is read is kept', async () => {
    await team('raced', { description: 'one', username: 'raced' });
    const { page } = await open('/console/objects/teams/-/raced?tab=edit');
    await page.getByText('The server accepts it').waitFor();
    await type(page, 'description: one', 'description: mine');
    await page.locator('.line.added', { hasText: 'mine' }).waitFor();
    await daemon.call('PATCH', `${API}/teams/raced`, {
      body: { spec: { displayName: 'Renamed' } },
      type: 'application/merge-patch+json',
    });
    await page.route('**/teams/raced/source*', async (route) => {
      if (route.request().method() === 'GET')
        await type(page, 'description:', 'description: typed');
      await route.continue();
    });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'Another change was faster' }).waitFor();
    await page.locator('.cm-line', { hasText: 'displayName: Renamed' }).waitFor();
    expect(await page.locator('.cm-content').innerText()).toContain('description: typed');
  });

  test('an error that is typed while the other change is read takes back no change', async () => {
    await team('unfinished', { description: 'one', username: 'unfinished' });
    const { page } = await open('/console/objects/teams/-/unfinished?tab=edit');
    await page.getByText('The server accepts it').waitFor();
    await type(page, 'description: one', 'description: mine');
    await page.locator('.line.added', { hasText: 'mine' }).waitFor();
    await daemon.call('PATCH', `${API}/teams/unfinished`, {
      body: { spec: { displayName: 'Renamed' } },
      type: 'application/merge-patch+json',
    });
    await page.route('**/teams/unfinished/source*', async (route) => {
      if (route.request().method() === 'GET') await type(page, 'description:', 'description: [');
      await route.continue();
    });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('.cm-line', { hasText: 'description: [' }).waitFor();
    await page
      .getByRole('button', { name: 'Save' })
      .and(page.locator(':not([disabled])'))
      .waitFor();
    await page.unroute('**/teams/unfinished/source*');
    await type(page, 'description: [', 'description: typed');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('.cm-line', { hasText: 'displayName: Renamed' }).waitFor();
  });

  test('an object goes back to a former commit after its change was shown', async () => {
    await team('rolled', { description: 'first' });
    await daemon.call('PATCH', `${API}/teams/rolled`, {
      body: { spec: { description: 'second' } },
      type: 'application/merge-patch+json',
    });
    const { page } = await open('/console/objects/teams/-/rolled?tab=history');
    await page.getByRole('button', { name: 'Changes' }).first().click();
    await page.locator('.line.added', { hasText: 'second' }).waitFor();
    await page.getByRole('button', { name: 'Roll back' }).click();
    await page.locator('.previewed .line.added', { hasText: 'first' }).waitFor();
    await page.getByLabel('Reason').fill('It was right');
    await page.getByRole('button', { name: 'Roll back' }).first().click();
    await page.getByText('rollback Team "rolled"').first().waitFor();
    const { spec } = (await daemon.call('GET', `${API}/teams/rolled`)).json();
    expect(spec.description).toBe('first');
  });

  test('the slider shows every page as it was, and nothing is changed there', async () => {
    await team('traveller', { description: 'young' });
    const [before] = (await daemon.call('GET', '/commits?limit=1')).json().items;
    await daemon.call('PATCH', `${API}/teams/traveller`, {
      body: { spec: { description: 'old' } },
      type: 'application/merge-patch+json',
    });
    const { page } = await open('/console/objects/teams/-/traveller');
    await page.getByText('old', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Time travel' }).click();
    await page.locator('.past-slider input:enabled').focus();
    await page.keyboard.press('ArrowLeft');
    await page.getByText('young', { exact: true }).waitFor();
    await expect.poll(() => page.url()).toContain(before.revision);
    expect(await page.getByRole('link', { name: 'Edit' }).count()).toBe(0);
    await page.getByRole('link', { name: 'Teams' }).click();
    await page.getByRole('link', { name: 'traveller' }).waitFor();
    await expect.poll(() => page.url()).toContain(before.revision);
    await page.getByRole('button', { name: 'Back to now' }).click();
    await expect.poll(() => page.url()).not.toContain('at=');
  });

  const HOSTILE =
    '<img src=x onerror="document.title=\'pwned\'"><script>document.title="pwned"</script>';

  test('texts of objects, commits and files stay texts', async () => {
    await team('hostile', { displayName: HOSTILE, description: `javascript:${HOSTILE}` });
    await daemon.call('PATCH', `${API}/teams/hostile`, {
      body: { metadata: { labels: { 'a.b/c': 'x' }, annotations: { html: HOSTILE } } },
      type: 'application/merge-patch+json',
      headers: { 'gitplane-reason': HOSTILE },
    });
    const clone = await daemon.clone();
    const from = join(clone, 'teams', 'hostile.yaml');
    writeFileSync(join(clone, 'teams', `${'<b onclick=1>'}.yaml`), readFileSync(from));
    await daemon.git(['rm', '-q', 'teams/hostile.yaml'], clone);
    await daemon.git(['add', '.'], clone);
    await daemon.git(['commit', '-qm', HOSTILE], clone);
    const pushed = await daemon.git(['push', '-q'], clone);
    expect(pushed.code, pushed.stderr).toBe(0);
    const { page, complaints } = await open('/console');
    for (const path of [
      ...['', '?tab=yaml', '?tab=history', '?tab=edit'].map(
        (tab) => `/objects/teams/-/hostile${tab}`,
      ),
      '/objects/teams',
      '/history',
      '',
    ]) {
      await page.goto(`${daemon.url}/console${path}`);
      await page.locator('main h1').waitFor();
      await page.locator('.panel, .vtable').first().waitFor();
      expect(await page.locator('main img, main script, main b').count()).toBe(0);
      expect(await page.title()).not.toBe('pwned');
    }
    expect(unexpected(complaints, 400, 409, 422)).toEqual([]);
  });

  test('the connection is lost and comes back with the daemon', async () => {
    const { page } = await open('/console/objects/teams');
    await page.getByRole('link', { name: 'storefront' }).waitFor();
    const { dataDir, port } = daemon;
    await daemon.stop();
    await page.getByText('Not connected').waitFor();
    await page.getByRole('link', { name: 'storefront' }).waitFor();
    daemon = await startDaemon({ dataDir, args: ['--listen', `127.0.0.1:${port}`] });
    await page.getByText('Not connected').waitFor({ state: 'detached' });
    await team('later');
    await page.getByRole('link', { name: 'later' }).waitFor();
  });

  // covers: uiSettings.navBarButtons uiSettings.externalURLs.block
  test('the settings of the interface act on the console', async () => {
    const path = `${API}/config/platform`;
    const logo = `data:image/svg+xml;base64,${Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)" width="80" height="20"/>').toString('base64')}`;
    const positions = ['TopStart', 'TopEnd', 'BottomStart', 'BottomEnd'];
    const uiSettings = {
      logoURL: logo,
      logoBackgroundColor: 'rgb(1, 2, 3)',
      sidebarColor: '#012345',
      primaryColor: 'rgb(200 10 20)',
      legalTemplate: '<p>Only for <b>staff</b>.</p><script>document.title="pwned"</script>',
      navBarButtons: positions.map((position) => ({
        position,
        text: position,
        link: '/console/history',
      })),
      externalURLs: { block: true },
    };
    const raw = stringify({ platformHost: 'platform.example', uiSettings });
    const body = { spec: { raw } };
    const type = 'application/merge-patch+json';
    expect((await daemon.call('PATCH', path, { body, type })).code).toBe(200);
    const { page, complaints } = await open('/console/objects/teams');
    await heading(page, 'Teams');
    expect(await page.title()).toBe('Teams · platform.example');
    expect(await page.locator('.legal').innerText()).toContain('Only for staff.');
    const shown = await page
      .locator('[data-position]')
      .evaluateAll((lists) => lists.map((list) => list.getAttribute('data-position')));
    expect(shown).toEqual(positions);
    const style = (selector: string, property: string): Promise<string> =>
      page.evaluate(
        `getComputedStyle(document.querySelector('${selector}')).getPropertyValue('${property}')`,
      );
    expect(await style('.logo', 'background-color')).toBe('rgb(1, 2, 3)');
    expect(await style('.sidebar', 'background-color')).toMatch(
      /0\.0039\d* 0\.137\d* 0\.27\d*|rgb\(1, 35, 69\)/,
    );
    await expectAccessible(page);
    expect(unexpected(complaints, 400, 409, 422)).toEqual([]);
  });
});
