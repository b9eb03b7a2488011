/** The editor of a degraded object, and the deletion of an object, in a browser. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deferred } from '../../src/concurrency/deferred.ts';
import {
  expectAccessible,
  HAS_BROWSER,
  openConsole,
  unexpected,
  useBrowser,
} from '../support/browser.ts';
import { API, type Daemon, startDaemon } from '../support/daemon.ts';

describe.skipIf(!HAS_BROWSER)('edits and deletions in the console', () => {
  const browser = useBrowser();
  let daemon: Daemon;

  async function git(folder: string, ...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await daemon.git(args, folder);
    expect(code, stderr).toBe(0);
    return stdout.trim();
  }

  beforeAll(async () => {
    daemon = await startDaemon();
    const clone = await daemon.clone();
    const file = join(clone, 'teams', 'storefront.yaml');
    writeFileSync(file, readFileSync(file, 'utf8').replace('displayName:', 'displayNam:'));
    await git(clone, 'commit', '-qam', 'Rename the storefront');
    // No hook judges what is moved beside it.
    const bare = join(daemon.dataDir, 'repo.git');
    await git(bare, 'fetch', '-q', clone, 'main');
    await git(bare, 'update-ref', 'refs/heads/main', await git(clone, 'rev-parse', 'HEAD'));
  });
  afterAll(async () => {
    await daemon?.stop();
  });

  test('the editor of a degraded object shows the problem of the text in git, and mends it', async () => {
    const path = '/console/objects/teams/-/storefront?tab=edit';
    const { page, complaints } = await openConsole(browser, daemon, path);
    await page.getByRole('status').getByText('1 problem').waitFor();
    expect(await page.getByText('The server accepts it').count()).toBe(0);
    const save = page.getByRole('button', { name: 'Save' });
    expect(await save.isDisabled()).toBe(true);
    expect(await page.getByLabel('Replace the manifest in git').count()).toBe(0);
    await page.locator('.cm-line', { hasText: 'displayNam:' }).click();
    await page.keyboard.press('Home');
    await page.keyboard.press('Shift+End');
    await page.keyboard.insertText('displayName: Mended');
    await page.getByText('The server accepts it').waitFor();
    await page.locator('.line.removed', { hasText: 'displayNam:' }).waitFor();
    await page.locator('.line.added', { hasText: 'displayName: Mended' }).waitFor();
    await expectAccessible(page);
    await save.click();
    await page.waitForURL(/storefront$/);
    const { spec, status } = (await daemon.call('GET', `${API}/teams/storefront`)).json();
    expect(spec).toMatchObject({ displayName: 'Mended' });
    expect(JSON.stringify(status ?? {})).not.toContain('Degraded');
    expect(unexpected(complaints, 400, 409, 422)).toEqual([]);
  });

  test('a save ends the check that is under way, which would find a conflict with it', async () => {
    const path = '/console/objects/teams/-/payments?tab=edit';
    const { page } = await openConsole(browser, daemon, path);
    await page.getByText('The server accepts it').waitFor();
    const isCheck = (url: string): boolean => url.includes('dryRun');
    const checking = page.waitForRequest((request) => isCheck(request.url()));
    const ended = page.waitForEvent('requestfailed', (request) => isCheck(request.url()));
    await page.route(/teams\/payments/, async (route) => {
      if (isCheck(route.request().url())) return;
      if (route.request().method() === 'PUT') await ended;
      await route.continue();
    });
    await page.getByLabel('Display name').fill('Tills');
    await checking;
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(/payments$/);
  });

  test('a save waits for the first check, and keeps the comments of the text', async () => {
    const { page } = await openConsole(browser, daemon, '/console/objects/teams');
    const release = deferred<void>();
    await page.route(/dryRun/, async (route) => {
      await release.promise;
      // A check that has ended meanwhile needs no answer.
      await route.continue().catch(() => undefined);
    });
    await page.goto(`${daemon.url}/console/objects/teams/-/platform?tab=edit`);
    await page.locator('.cm-line', { hasText: 'kind: Team' }).click();
    await page.keyboard.press('End');
    const checking = page.waitForRequest((request) => request.url().includes('dryRun'));
    await page.keyboard.insertText(' # remains');
    await checking;
    await page.keyboard.press('Control+s');
    const save = page.getByRole('button', { name: 'Save' });
    expect(await save.isDisabled()).toBe(true);
    release.resolve(undefined);
    await save.click();
    await page.waitForURL(/platform$/);
    const source = (await daemon.call('GET', `${API}/teams/platform/source`)).json();
    expect(source.text).toContain('kind: Team # remains');
  });

  test('an edit goes on with what is typed while it is saved', async () => {
    const path = '/console/objects/teams/-/payments?tab=edit';
    const { page } = await openConsole(browser, daemon, path);
    await page.getByText('The server accepts it').waitFor();
    const release = deferred<void>();
    await page.route(/teams\/payments/, async (route) => {
      const isSave =
        route.request().method() === 'PUT' && !route.request().url().includes('dryRun');
      if (isSave) await release.promise;
      await route.continue().catch(() => undefined);
    });
    const name = page.getByLabel('Display name');
    const shown = async (): Promise<string> =>
      (await daemon.call('GET', `${API}/teams/payments`)).json().spec.displayName;
    await name.fill('Found');
    await page.getByText('The server accepts it').waitFor();
    const saving = page.waitForRequest(
      (request) => request.method() === 'PUT' && !request.url().includes('dryRun'),
    );
    await page.getByRole('button', { name: 'Save' }).click();
    await saving;
    await name.fill('Found again');
    release.resolve(undefined);
    await expect.poll(shown).toBe('Found');
    await expect.poll(() => page.getByRole('button', { name: 'Save' }).count()).toBe(1);
    await expect.poll(() => page.getByRole('button', { name: 'Save' }).isEnabled()).toBe(true);
    expect(await name.inputValue()).toBe('Found again');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(/payments$/);
    expect(await shown()).toBe('Found again');
  });

  test('a save after a check without an answer keeps the comments of the text', async () => {
    const path = '/console/objects/teams/-/platform?tab=edit';
    const { page } = await openConsole(browser, daemon, path);
    await page.getByText('The server accepts it').waitFor();
    await page.route(/dryRun/, (route) => route.abort('connectionreset'));
    await page.locator('.cm-line', { hasText: /^metadata:$/ }).click();
    await page.keyboard.press('End');
    await page.keyboard.insertText(' # stays');
    await page.getByRole('status').getByText('1 problem').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(/platform$/);
    const source = (await daemon.call('GET', `${API}/teams/platform/source`)).json();
    expect(source.text).toContain('metadata: # stays');
  });

  test('a deletion shows what goes with it, and needs the name', async () => {
    const made = await daemon.call('POST', `${API}/teams`, {
      body: { metadata: { name: 'leaving' }, spec: { displayName: 'Leaving', users: ['ada'] } },
    });
    expect(made.code, made.text).toBe(201);
    const path = '/console/objects/teams/-/leaving?tab=edit';
    const { page, complaints } = await openConsole(browser, daemon, path);
    const opener = page.getByRole('button', { name: 'Delete…' });
    await opener.click();
    await page.locator('.line.removed', { hasText: 'displayName: Leaving' }).waitFor();
    const effect = page.locator('.panel', {
      has: page.getByRole('heading', { name: 'Effect', exact: true }),
    });
    await effect.getByText(/access closes User ada: the rights of gitplane:team:leaving/).waitFor();
    await expectAccessible(page);
    const remove = page.getByRole('button', { name: 'Delete', exact: true });
    expect(await remove.isDisabled()).toBe(true);
    await page.getByLabel('Name, to confirm').fill('leavin');
    expect(await remove.isDisabled()).toBe(true);
    await page.keyboard.press('Escape');
    await remove.waitFor({ state: 'detached' });
    expect((await daemon.call('GET', `${API}/teams/leaving`)).code).toBe(200);
    await opener.click();
    await page.getByLabel('Name, to confirm').fill('leaving');
    await page.getByLabel('Reason').last().fill('It moved');
    await remove.click();
    await page.waitForURL(/objects\/teams$/);
    expect((await daemon.call('GET', `${API}/teams/leaving`)).code).toBe(404);
    const [commit] = (await daemon.call('GET', '/commits?limit=1')).json().items;
    expect(commit.message).toContain('It moved');
    expect(unexpected(complaints, 400, 409, 422)).toEqual([]);
  });

  test('the page of tenants says how the first one is made', async () => {
    const { page } = await openConsole(browser, daemon, '/console/tenants');
    await page.getByText('There are none yet').waitFor();
    const text = await page.locator('main').innerText();
    expect(text).toContain('tenants/<name>/vcluster.yaml');
    expect(text).toContain(`git clone ${daemon.url}/git/platform.git`);
    const settings = await page.locator('main pre').first().innerText();
    const clone = await daemon.clone();
    mkdirSync(join(clone, 'tenants', 'blue'), { recursive: true });
    writeFileSync(join(clone, 'tenants', 'blue', 'vcluster.yaml'), settings);
    await git(clone, 'add', '.');
    await git(clone, 'commit', '-qm', 'A tenant');
    await git(clone, 'push', '-q');
    await page.reload();
    await page.getByRole('link', { name: 'blue' }).waitFor();
  });
});
