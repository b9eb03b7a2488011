/** History and time in the console, in a browser: comparisons, timelines of teams, the start page of the past. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectAccessible, HAS_BROWSER, openConsole, useBrowser } from '../support/browser.ts';
import { API, type Daemon, startDaemon } from '../support/daemon.ts';

const HOSTILE = '<img src=x onerror="document.title=1">';

describe.skipIf(!HAS_BROWSER)('history and time in the console', () => {
  const browser = useBrowser();
  let daemon: Daemon;
  let before: string;

  async function write(method: string, path: string, body: object): Promise<void> {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const headers = { 'gitplane-reason': HOSTILE };
    const answer = await daemon.call(method, `${API}/${path}`, { body, type, headers });
    expect(answer.code, answer.text).toBeLessThan(300);
  }

  const displayName = async (): Promise<string> =>
    (await daemon.call('GET', `${API}/teams/storefront`)).json().spec.displayName;

  beforeAll(async () => {
    daemon = await startDaemon();
    before = (await daemon.call('GET', '/commits?limit=1')).json().items[0].revision;
    await write('PATCH', 'teams/storefront', { spec: { displayName: HOSTILE } });
    await write('POST', 'teams', { metadata: { name: 'made' }, spec: { displayName: 'Made' } });
  });
  afterAll(async () => {
    await daemon?.stop();
  });

  test('two commits are compared, and an object goes back after its change was shown', async () => {
    const { page, complaints } = await openConsole(browser, daemon, '/console/history');
    await page.getByLabel('Compare ', { exact: false }).nth(2).check();
    await page.getByRole('link', { name: 'Compare with now' }).click();
    await page.getByText('1 added, 1 changed').waitFor();
    expect(page.url()).toContain(`/console/history/compare?from=${before}`);
    const changed = page.locator('.rows > li').filter({ hasText: 'Team storefront' });
    await changed.getByText('spec.displayName').waitFor();
    expect(await changed.innerText()).toContain(HOSTILE);
    await expectAccessible(page);
    await changed.getByRole('button', { name: 'Roll back' }).click();
    await changed.locator('.line.added', { hasText: 'displayName: Storefront' }).waitFor();
    await changed.locator('form').getByRole('button', { name: 'Roll back' }).click();
    await expect.poll(displayName).toBe('Storefront');
    await write('PATCH', 'teams/storefront', { spec: { displayName: HOSTILE } });
    expect(await page.title()).not.toBe('1');
    expect(await page.locator('main img').count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  test('a commit shows its changes', async () => {
    const { page } = await openConsole(browser, daemon, '/console/history');
    const newest = page.locator('.timeline > li').first();
    await newest.getByRole('button', { name: 'Changes' }).click();
    await newest.getByText('1 changed').waitFor();
  });

  test('a team has a timeline of its own', async () => {
    const { page } = await openConsole(browser, daemon, '/console/objects/teams/-/storefront');
    await page.getByRole('link', { name: 'The team and what it owns' }).click();
    await page.getByRole('heading', { level: 1, name: 'History of storefront' }).waitFor();
    await page.getByText('patch Team "storefront"').first().waitFor();
    expect(await page.locator('main').innerText()).not.toContain('create Team "made"');
  });

  test('the start page is that of the moment', async () => {
    const { page, complaints } = await openConsole(browser, daemon, `/console?at=${before}`);
    await page.getByRole('heading', { name: 'All was well' }).waitFor();
    const teams = page.locator('.tiles li').filter({ hasText: 'Teams' });
    expect(await teams.locator('.tile-number').innerText()).toBe('3');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Back to now' }).click();
    await page.getByRole('heading', { name: 'All is well' }).waitFor();
    await expect.poll(() => teams.locator('.tile-number').innerText()).toBe('4');
    expect(complaints).toEqual([]);
  });

  test('a moment that does not exist is named', async () => {
    const { page } = await openConsole(browser, daemon, '/console/history/compare?from=00000000');
    await page.getByText('the branch has no commit 00000000').waitFor();
    await expectAccessible(page);
    expect(
      await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      ),
    ).toBe(0);
  });
});
