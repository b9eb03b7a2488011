/** The editor of a degraded object, and the deletion of an object, in a browser. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
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

  /** Holds the first save of the page back; resolves with its release once it is under way. */
  async function holdSave(page: Page): Promise<() => Promise<() => void>> {
    const [begun, release] = [deferred<void>(), deferred<void>()];
    await page.route(/\/kubernetes\//, async (route) => {
      const request = route.request();
      if (request.method() === 'PUT' && !request.url().includes('dryRun')) {
        begun.resolve(undefined);
        await release.promise;
      }
      await route.continue().catch(() => undefined);
    });
    return async () => {
      await begun.promise;
      return () => release.resolve(undefined);
    };
  }

  test('an edit goes on with a text that has an error while the save answers', async () => {
    const path = '/console/objects/teams/-/platform?tab=edit';
    const { page } = await openConsole(browser, daemon, path);
    const saving = await holdSave(page);
    await page.locator('.cm-line', { hasText: 'kind: Team' }).click();
    await page.keyboard.press('End');
    await page.keyboard.insertText(' # one');
    await page.locator('.line.added', { hasText: '# one' }).waitFor();
    await page.keyboard.press('Control+s');
    const release = await saving();
    await page.keyboard.press('Enter');
    await page.keyboard.insertText('"');
    release();
    await page
      .getByRole('status')
      .getByText(/problem/)
      .waitFor();
    await page.keyboard.press('Backspace');
    await page.keyboard.insertText('# two');
    await page.getByText('The server accepts it').waitFor({ timeout: 15_000 });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(/platform$/);
    const { text } = (await daemon.call('GET', `${API}/teams/platform/source`)).json();
    expect(text).toMatch(/# one.*\n# two/);
  });

  test('a save leads to no other page if its page was left', async () => {
    const path = '/console/objects/teams/-/payments?tab=edit';
    const { page } = await openConsole(browser, daemon, path);
    const saving = await holdSave(page);
    await page.getByText('The server accepts it').waitFor();
    await page.getByLabel('Display name').fill('Left');
    await page.locator('.line.added', { hasText: 'Left' }).waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    const release = await saving();
    const tabs = page.getByRole('navigation', { name: 'Object', exact: true });
    await tabs.getByRole('link', { name: 'History' }).click();
    await page.waitForURL(/tab=history/);
    release();
    await page.getByText('Committed', { exact: true }).waitFor({ state: 'attached' });
    expect(page.url()).toContain('tab=history');
  });

  async function makeSecret(name: string): Promise<string> {
    const place = `${API}/namespaces/payments/sharedsecrets`;
    const made = await daemon.call('POST', place, {
      body: {
        metadata: { name },
        spec: { displayName: name, data: { first: btoa('first'), second: btoa('second') } },
      },
    });
    expect(made.code, made.text).toBe(201);
    return `${place}/${name}`;
  }

  test('values of secrets that others change stay out of the text and of conflicts', async () => {
    const place = await makeSecret('changed');
    const path = '/console/objects/sharedsecrets/payments/changed?tab=edit';
    const { page } = await openConsole(browser, daemon, path);
    await page.getByText('The server accepts it').waitFor();
    const theirs = { first: btoa('their first'), second: btoa('their second') };
    const current = (await daemon.call('GET', place)).json();
    const body = { ...current, spec: { ...current.spec, data: theirs } };
    expect((await daemon.call('PUT', place, { body })).code).toBe(200);
    await page.getByLabel('New value of spec.data.second').fill('my second');
    await page.getByRole('button', { name: 'Set', exact: true }).last().click();
    await page
      .getByRole('status')
      .getByText(/problem/)
      .waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    const conflict = page.locator('.panel', { hasText: 'Another change was faster' });
    await conflict.getByText('Taken over into your text: spec.data.first.').waitFor();
    const shown = `${await conflict.innerText()} ${await page.locator('.cm-content').innerText()}`;
    for (const value of Object.values(theirs)) expect(shown).not.toContain(value);
    await conflict.getByRole('button', { name: 'Keep yours' }).click();
    await page.getByText('The server accepts it').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(/changed$/);
    const { data } = (await daemon.call('GET', place)).json().spec;
    expect(data).toEqual({ first: theirs.first, second: btoa('my second') });
  });

  test('an edit that goes on after the replacement of a manifest replaces no other one', async () => {
    await makeSecret('replaced');
    const clone = await daemon.clone();
    const file = join(clone, 'namespaces', 'payments', 'sharedsecrets', 'replaced.yaml');
    writeFileSync(file, readFileSync(file, 'utf8').replace('displayName:', 'displayNam:'));
    await git(clone, 'commit', '-qam', 'Rename a field');
    const bare = join(daemon.dataDir, 'repo.git');
    await git(bare, 'fetch', '-q', clone, 'main');
    await git(bare, 'update-ref', 'refs/heads/main', await git(clone, 'rev-parse', 'HEAD'));
    const isBroken = async (): Promise<boolean> =>
      (await daemon.call('GET', `${API}/namespaces/payments/sharedsecrets/replaced`)).text.includes(
        'Degraded',
      );
    await expect.poll(isBroken, { timeout: 20_000 }).toBe(true);
    const path = '/console/objects/sharedsecrets/payments/replaced?tab=edit';
    const { page } = await openConsole(browser, daemon, path);
    const saving = await holdSave(page);
    await page.getByLabel('Replace the manifest in git').check();
    await page.locator('.cm-line', { hasText: 'displayNam:' }).click();
    await page.keyboard.press('Home');
    await page.keyboard.press('Shift+End');
    await page.keyboard.insertText('displayName: Mended');
    await page.getByText('The server accepts it').waitFor();
    await page.keyboard.press('Control+s');
    const release = await saving();
    await page.keyboard.insertText(' again');
    release();
    const save = page.getByRole('button', { name: 'Save' });
    await expect.poll(() => save.isEnabled(), { timeout: 15_000 }).toBe(true);
    expect(await page.getByLabel('Replace the manifest in git').count()).toBe(0);
    const next = page.waitForRequest(
      (request) => request.method() === 'PUT' && !request.url().includes('dryRun'),
    );
    await save.click();
    expect((await next).url()).not.toContain('force');
    await page.waitForURL(/replaced$/);
  });

  test('the first secret value of an object is saved as the value, and not as its placeholder', async () => {
    const place = `${API}/namespaces/payments/sharedsecrets`;
    const body = { metadata: { name: 'empty' }, spec: { displayName: 'Empty' } };
    expect((await daemon.call('POST', place, { body })).code).toBe(201);
    const path = '/console/objects/sharedsecrets/payments/empty?tab=edit';
    const { page } = await openConsole(browser, daemon, path);
    await page.getByText('The server accepts it').waitFor();
    await page.getByLabel('New key of data').fill('first');
    await page.getByRole('button', { name: 'Add with a generated value' }).click();
    await page.locator('.cm-line', { hasText: '(new value)' }).waitFor();
    await page.locator('.line.added', { hasText: 'first' }).waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(/empty$/);
    const { data } = (await daemon.call('GET', `${place}/empty`)).json().spec;
    expect(data.first).toMatch(/^[A-Za-z0-9+/=]{32,}$/);
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
