/** The console for people with few rights, in a browser: an editor without the right to clone, readers, a person without any right. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Page, Request } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  expectAccessible,
  HAS_BROWSER,
  openConsole,
  unexpected,
  useBrowser,
  type Visit,
} from '../support/browser.ts';
import { type Answer, API, type Daemon, RBAC, startDaemon } from '../support/daemon.ts';

const TEAM = `${API}/teams/storefront`;
const PAGE = '/console/objects/teams/-/storefront';
const SECRETS = `${API}/namespaces/payments/sharedsecrets`;
const HIDDEN = 'Its manifest in git takes the right to clone';

/** One page of each of the ten parts, and buttons on it that write. */
const PARTS: readonly (readonly [path: string, buttons: readonly string[]])[] = [
  ['/console', ['Approve']],
  ['/console/objects/teams', ['New']],
  ['/console/objects/sharedsecrets?namespace=payments', ['New']],
  [PAGE, ['Give access']],
  [`${PAGE}?tab=edit`, ['Save', 'Delete…']],
  [`${PAGE}?tab=history`, ['Undo']],
  ['/console/objects/teams/-/payments', ['Restore the last good version']],
  ['/console/history', []],
  ['/console/history/compare?from=HEAD~', ['Roll back']],
  ['/console/plan', []],
  ['/console/access', []],
  ['/console/access/keys', ['New access key', 'Rotate', 'Disable', 'Revoke']],
  ['/console/access/logins', []],
  ['/console/tenants/blue/playground', ['Run the patches', 'Save to the tenant']],
  ['/console/config', ['Check', 'Save', 'Test now']],
  ['/console/audit', []],
  ['/console/costs', []],
];
const WRITES = new Set(PARTS.flatMap(([, buttons]) => buttons));

describe.skipIf(!HAS_BROWSER)('a person with few rights', () => {
  const browser = useBrowser();
  const keys: Record<string, string> = {};
  let daemon: Daemon;

  async function send(method: string, path: string, body: object): Promise<Answer> {
    const type = method === 'PATCH' ? 'application/json-patch+json' : 'application/json';
    const answer = await daemon.call(method, path, { body, type });
    expect(answer.code, answer.text).toBeLessThan(300);
    return answer;
  }

  async function grant(user: string, verbs: readonly string[]): Promise<void> {
    const apiGroup = 'rbac.authorization.k8s.io';
    const rule = { apiGroups: ['management.gitplane.dev'], resources: ['teams'] };
    await send('POST', `${RBAC}/clusterroles`, {
      metadata: { name: user },
      rules: [{ ...rule, resourceNames: ['storefront'], verbs }],
    });
    await send('POST', `${RBAC}/clusterrolebindings`, {
      metadata: { name: user },
      roleRef: { apiGroup, kind: 'ClusterRole', name: user },
      subjects: [{ apiGroup, kind: 'User', name: user }],
    });
  }

  beforeAll(async () => {
    daemon = await startDaemon();
    for (const name of ['editor', 'reader', 'nobody', 'blind', 'auditor']) {
      await send('POST', `${API}/users`, { metadata: { name } });
      const made = await send('POST', `${API}/ownedaccesskeys`, { spec: { user: name } });
      keys[name] = made.json().spec.key;
    }
    await grant('editor', ['get', 'update']);
    await grant('reader', ['get']);
    await grant('blind', ['update']);
    const rule = { verbs: ['get', 'update'], users: ['editor'] };
    const operations = [{ op: 'add', path: '/spec/access', value: [rule] }];
    await send('PATCH', `${SECRETS}/registry`, operations);
  });
  afterAll(async () => {
    await daemon?.stop();
  });

  const open = (as: string, path: string): Promise<Visit> =>
    openConsole(browser, { url: daemon.url, token: keys[as] ?? '' }, path);

  const main = (page: Page): Promise<string> => page.locator('main').innerText();

  async function textInGit(path: string): Promise<string> {
    return readFileSync(join(await daemon.clone(), path), 'utf8');
  }

  test('edits an object by its form without the right to clone, and comments in git stay', async () => {
    const path = 'teams/storefront.yaml';
    const before = await textInGit(path);
    expect(before).toContain('#');
    const { page, complaints } = await open('editor', `${PAGE}?tab=edit`);
    await page.getByText(HIDDEN).waitFor();
    await page.getByLabel('Display name').fill('Shop window');
    await page.getByText('The server accepts it').waitFor();
    const fields = page.locator('.panel', { has: page.getByRole('heading', { name: 'Fields' }) });
    await fields.getByText('Shop window').waitFor();
    await page.getByText('The bytes of the file take the right to clone').waitFor();
    expect(await page.locator('.diff').count()).toBe(0);
    expect(await page.getByRole('button', { name: 'Delete…' }).count()).toBe(0);
    await expectAccessible(page);
    await page.getByLabel('Reason').fill('It is a window');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(/storefront$/);
    await page.getByText('Shop window').first().waitFor();
    expect(await textInGit(path)).toBe(before.replace('Storefront', 'Shop window'));
    const [commit] = (await daemon.call('GET', '/commits?limit=1')).json().items;
    expect(commit).toMatchObject({ author: { name: 'editor' } });
    expect(unexpected(complaints, 403, 422)).toEqual([]);
  });

  test('edits the YAML of an object, and its problems are marked', async () => {
    const { page } = await open('editor', `${PAGE}?tab=edit`);
    const line = page.locator('.cm-line', { hasText: 'displayName:' });
    await line.click();
    await page.keyboard.press('Home');
    await page.keyboard.press('Shift+End');
    await page.keyboard.insertText('displayNam: Typed');
    await page.getByText('1 problem').waitFor();
    await page.locator('.cm-line', { hasText: 'displayNam:' }).click();
    await page.keyboard.press('Home');
    await page.keyboard.press('Shift+End');
    await page.keyboard.insertText('displayName: Typed');
    await page.getByText('The server accepts it').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(/storefront$/);
    expect((await daemon.call('GET', TEAM)).json().spec.displayName).toBe('Typed');
  });

  test('edits a secret by a rule of the secret alone, and its value stays', async () => {
    const before = (await daemon.call('GET', `${SECRETS}/registry`)).json();
    const path = '/console/objects/sharedsecrets/payments/registry?tab=edit';
    const { page, complaints } = await open('editor', path);
    await page.getByLabel('Description').first().fill('Changed by its editor');
    const fields = page.locator('.panel', { has: page.getByRole('heading', { name: 'Fields' }) });
    await fields.getByText('Changed by its editor').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(/registry$/);
    const { spec } = (await daemon.call('GET', `${SECRETS}/registry`)).json();
    expect(spec).toEqual({ ...before.spec, description: 'Changed by its editor' });
    expect(unexpected(complaints, 403, 422)).toEqual([]);
  });

  test('reads an object without the right to watch it, and learns why it cannot be changed', async () => {
    const { page, complaints } = await open('reader', PAGE);
    await page.getByText('Name that the user interface shows').first().waitFor();
    await page.getByRole('link', { name: 'Edit' }).click();
    await page.getByText('You may read this object, not change it').waitFor();
    await page.getByText('displayName:').first().waitFor();
    expect(await page.getByRole('button', { name: /Save|Delete/ }).count()).toBe(0);
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Why', exact: true }).click();
    await page.getByText('reader may not do this').waitFor();
    expect(unexpected(complaints, 403, 422)).toEqual([]);
  });

  test('sees nothing of an object that it may change and not read', async () => {
    const { page } = await open('blind', `${PAGE}?tab=edit`);
    await page.getByText('User "blind" cannot get resource "teams"').waitFor();
    expect(await main(page)).not.toMatch(/Save|displayName|Storefront/);
  });

  describe('an auditor on a platform with something to do in each part', () => {
    /** First commit of the comparison. */
    let from = '';

    beforeAll(async () => {
      const apiGroup = 'rbac.authorization.k8s.io';
      await send('POST', `${RBAC}/clusterroles`, {
        metadata: { name: 'auditor' },
        rules: [
          { apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list', 'watch'] },
          { nonResourceURLs: ['*'], verbs: ['get'] },
        ],
      });
      await send('POST', `${RBAC}/clusterrolebindings`, {
        metadata: { name: 'auditor' },
        roleRef: { apiGroup, kind: 'ClusterRole', name: 'auditor' },
        subjects: [{ apiGroup, kind: 'User', name: 'auditor' }],
      });
      from = (await daemon.call('GET', '/commits?limit=1')).json().items[0].revision;
      await send('PATCH', TEAM, [{ op: 'add', path: '/spec/description', value: 'Shops' }]);
      const clone = await daemon.clone();
      const commit = async (path: string, text: string): Promise<void> => {
        mkdirSync(dirname(join(clone, path)), { recursive: true });
        writeFileSync(join(clone, path), text);
        await daemon.git(['add', '.'], clone);
        await daemon.git(['commit', '-qm', `Change ${path}`], clone);
      };
      await commit('tenants/blue/vcluster.yaml', 'sync: {toHost: {endpoints: {enabled: true}}}\n');
      expect((await daemon.git(['push', '-q'], clone)).code).toBe(0);
      const path = 'teams/payments.yaml';
      const text = readFileSync(join(clone, path), 'utf8');
      await commit(path, text.replace('displayName:', 'displayNam:'));
      // No hook judges what is moved beside it.
      const bare = join(daemon.dataDir, 'repo.git');
      await daemon.git(['fetch', '-q', clone, 'main'], bare);
      const { stdout: head } = await daemon.git(['rev-parse', 'HEAD'], clone);
      await daemon.git(['update-ref', 'refs/heads/main', head.trim()], bare);
      const degraded = async () => (await daemon.call('GET', '/summary')).json().degraded.count;
      await vi.waitFor(async () => expect(await degraded()).toBe(1));
    });

    /** Requests that the server holds open. */
    const HELD_OPEN = /watch=true|since=/;

    /** A page as the reader sees it, and a wait for the end of its requests. */
    async function openAsAuditor(path: string): Promise<Visit & { loaded(): Promise<void> }> {
      const visit = await browser.visit();
      const { page, context } = visit;
      const pending = new Set<Request>();
      page.on('request', (request) => {
        if (!HELD_OPEN.test(request.url())) pending.add(request);
      });
      page.on('requestfinished', (request) => pending.delete(request));
      page.on('requestfailed', (request) => pending.delete(request));
      const cookie = { httpOnly: true, secure: true, sameSite: 'Lax' as const };
      const value = keys['auditor'] ?? '';
      await context.addCookies([{ name: '__Host-session', value, url: daemon.url, ...cookie }]);
      await page.goto(`${daemon.url}${path}`);
      await page.locator('main h1').waitFor();
      const loaded = async (): Promise<void> => {
        // An answer may lead to another request.
        for (let times = 0; times < 3; times++) {
          await page.evaluate(
            'new Promise((done) => requestAnimationFrame(() => setTimeout(done)))',
          );
          await expect.poll(() => pending.size).toBe(0);
        }
        await page.locator('main .loading').first().waitFor({ state: 'detached' });
      };
      return { ...visit, loaded };
    }

    /** Names of the buttons of a page, without the objects that they name. */
    async function buttonsOf(page: Page): Promise<string[]> {
      const found = await page.locator('main :is(button, a.button)').allInnerTexts();
      return found.map((text) => text.trim());
    }

    const part = (path: string): string => path.replace('HEAD~', from);

    test.each(PARTS)(
      '%s offers an administrator what writes, and nothing of it to a reader',
      async (path, buttons) => {
        const admin = await openConsole(browser, daemon, part(path));
        for (const name of buttons.filter((one) => one !== 'Approve')) {
          await admin.page
            .getByRole('button', { name })
            .or(admin.page.getByRole('link', { name, exact: true }))
            .first()
            .waitFor();
        }
        const refused: string[] = [];
        const { page, loaded } = await openAsAuditor(part(path));
        await loaded();
        expect((await buttonsOf(page)).filter((name) => WRITES.has(name))).toEqual([]);
        await expectAccessible(page);
        page.on('response', (response) => {
          if (response.status() === 403)
            refused.push(`${response.request().method()} ${response.url()}`);
        });
        // Buttons that are there are not refused.
        const there = page.locator('main button:enabled');
        for (let index = 0; index < Math.min(await there.count(), 8); index++) {
          await there.nth(index).click();
          await loaded();
          await page.keyboard.press('Escape');
        }
        expect(refused).toEqual([]);
      },
    );

    test('asks once per page what the person may do, whatever its number of rows', async () => {
      const { page, loaded } = await openAsAuditor('/console/audit');
      await loaded();
      const asked: string[] = [];
      page.on('request', (request) => {
        if (/selfsubject|access\/explain/.test(request.url())) asked.push(request.url());
      });
      const choose = async (name: string): Promise<void> => {
        await page.getByRole('link', { name, exact: true }).first().click();
        await loaded();
      };
      await choose('Access');
      expect(asked).toHaveLength(1);
      await choose('Keys');
      await page.getByText('You may not create access keys').waitFor();
      expect(asked).toHaveLength(2);
      await choose('Objects');
      await page.getByText('You may not create').waitFor();
      await loaded();
      expect(asked).toHaveLength(3);
    });
  });

  test('is told that it has no rights, without an error', async () => {
    const { page, complaints } = await open('nobody', '/console');
    await page.getByText('You may list no kind of object. Ask an administrator').waitFor();
    const text = await main(page);
    expect(text).not.toContain('All is well');
    expect(text).toContain('You have no right to see: branch');
    await expectAccessible(page);
    expect(complaints).toEqual([]);
  });
});
