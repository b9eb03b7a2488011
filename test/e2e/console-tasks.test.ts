/** Tasks of a person who sees the console for the first time, in a browser. Only labels on the pages are used. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  expectAccessible,
  HAS_BROWSER,
  openConsole,
  useBrowser,
  type Visit,
} from '../support/browser.ts';
import { API, type Daemon, startDaemon } from '../support/daemon.ts';

const WEEK_S = 7 * 24 * 60 * 60;

describe.skipIf(!HAS_BROWSER)('a new user of the console', () => {
  const browser = useBrowser();
  let daemon: Daemon;
  let clone: string;

  async function git(folder: string, ...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await daemon.git(args, folder);
    expect(code, stderr).toBe(0);
    return stdout.trim();
  }

  function write(path: string, text: string): void {
    mkdirSync(dirname(join(clone, path)), { recursive: true });
    writeFileSync(join(clone, path), text);
  }

  function replace(path: string, from: string, to: string): void {
    const text = readFileSync(join(clone, path), 'utf8');
    expect(text).toContain(from);
    write(path, text.replace(from, to));
  }

  beforeAll(async () => {
    daemon = await startDaemon();
    clone = await daemon.clone();
    replace('teams/storefront.yaml', 'displayName: Storefront', 'displayName: Shop window');
    const lastWeek = `${Math.floor(Date.now() / 1000) - WEEK_S} +0000`;
    await git(clone, 'commit', '-qam', 'Rename the storefront', '--date', lastWeek);
    await git(clone, 'push', '-q');
    write(
      'tenants/blue/vcluster.yaml',
      `sync:\n  toHost:\n    endpoints:\n      patches:\n        - path: metadata.labels["team"]\n          expression: '"the " + value'\n`,
    );
    await git(clone, 'add', '.');
    await git(clone, 'commit', '-qm', 'A tenant');
    await git(clone, 'push', '-q');
    await git(clone, 'checkout', '-q', '-b', 'pr-12');
    write(
      'teams/search.yaml',
      'apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata: {name: search}\nspec: {displayName: Search, users: [ada]}\n',
    );
    await git(clone, 'add', '.');
    await git(clone, 'commit', '-qm', 'A team for the search');
    await git(clone, 'push', '-q', 'origin', 'pr-12');
    await git(clone, 'checkout', '-q', 'main');
    replace('teams/payments.yaml', 'displayName:', 'displayNam:');
    await git(clone, 'commit', '-qam', 'Rename the payments');
    // No hook judges what is moved beside it.
    const bare = join(daemon.dataDir, 'repo.git');
    await git(bare, 'fetch', '-q', clone, 'main');
    await git(bare, 'update-ref', 'refs/heads/main', await git(clone, 'rev-parse', 'HEAD'));
  });

  afterAll(async () => {
    await daemon?.stop();
  });

  const open = (path = '/console'): Promise<Visit> => openConsole(browser, daemon, path);

  async function find(page: Page, name: string): Promise<void> {
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('combobox').fill(name);
    await page.getByRole('option', { name }).first().click();
    await page.getByRole('heading', { level: 1, name }).waitFor();
  }

  test('learns why the platform is not well, and repairs it', async () => {
    const { page, complaints } = await open();
    await page.getByText('1 thing to look at').waitFor();
    await page.getByRole('link', { name: 'Team payments' }).click();
    await page.getByText('The newest manifest is not valid').waitFor();
    await page
      .getByText(/teams\/payments\.yaml:\d+:\d+: .*did you mean "displayName"/)
      .first()
      .waitFor();
    await page.getByText('Since Rename the payments by Ann Author').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Restore the last good version' }).click();
    await page.locator('.line.removed', { hasText: 'displayNam: Payments' }).waitFor();
    await page.locator('.line.added', { hasText: 'displayName: Payments' }).waitFor();
    await page.getByRole('button', { name: 'Restore', exact: true }).click();
    await page.getByText('The newest manifest is not valid').waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Overview' }).first().click();
    await page.getByRole('heading', { name: 'All is well' }).waitFor();
    expect(complaints).toEqual([]);
  });

  test('sees who changed a team last week, and undoes it', async () => {
    const { page } = await open();
    await find(page, 'storefront');
    await page.getByRole('link', { name: 'History' }).last().click();
    const newest = page.locator('.timeline li').first();
    await newest.getByText('Rename the storefront').waitFor();
    expect(await newest.innerText()).toMatch(/Ann Author/);
    await newest.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('This takes back Rename the storefront by Ann Author').waitFor();
    await page.locator('.line.added', { hasText: 'displayName: Storefront' }).waitFor();
    await page.getByLabel('Reason').fill('The old name is known');
    await page.locator('form').getByRole('button', { name: 'Undo' }).click();
    await page.getByText(/rollback Team "storefront"/).waitFor();
    const { spec } = (await daemon.call('GET', `${API}/teams/storefront`)).json();
    expect(spec.displayName).toBe('Storefront');
  });

  test('opens a team by a click in the list of teams', async () => {
    const { page } = await open('/console/objects/teams');
    await page.getByRole('link', { name: 'platform', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'platform' }).waitFor();
  });

  test('gives a person read access to one secret', async () => {
    const secrets = `${API}/namespaces/payments/sharedsecrets`;
    const { page, complaints } = await open();
    await find(page, 'registry');
    await page.getByRole('button', { name: 'Give access' }).click();
    await page.getByLabel('Name', { exact: true }).fill('ada');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Show the change' }).click();
    await page.locator('.line.added', { hasText: '- ada' }).waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    // The question is asked once, so that it must come after the commit.
    await page.getByRole('button', { name: 'Save' }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Who may read it' }).click();
    await page
      .getByText(/SharedSecret payments\/registry/)
      .first()
      .waitFor();
    const { spec } = (await daemon.call('GET', `${secrets}/registry`)).json();
    expect(spec.access.at(-1)).toEqual({ verbs: ['get'], users: ['ada'] });
    const other = (await daemon.call('GET', `${secrets}/card-gateway`)).json();
    expect(other.spec.access.at(-1)).not.toEqual({ verbs: ['get'], users: ['ada'] });
    expect(complaints).toEqual([]);
  });

  test('tries a patch, and saves it to the tenant', async () => {
    const { page } = await open();
    await page.getByRole('link', { name: 'Tenants' }).first().click();
    await page.getByRole('link', { name: 'blue' }).click();
    await page.getByRole('link', { name: 'Playground' }).click();
    const settings = page.getByLabel('Settings with the patches');
    await expect.poll(() => settings.inputValue()).toContain('the ');
    await page.getByRole('button', { name: 'Run' }).click();
    await page
      .getByText(/the storefront/)
      .first()
      .waitFor();
    const before = await settings.inputValue();
    await settings.fill(before.replace('the ', 'our '));
    await page.getByRole('button', { name: 'Run' }).click();
    await page
      .getByText(/our storefront/)
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'Save to the tenant' }).click();
    await page.locator('.line.added', { hasText: 'our ' }).waitFor();
    await page.getByLabel('Reason').fill('It is ours');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    const source = `${API}/tenants/blue/source`;
    const text = async (): Promise<string> => (await daemon.call('GET', source)).json().text;
    await expect.poll(text).toBe(before.replace('the ', 'our '));
    const [commit] = (await daemon.call('GET', '/commits?limit=1')).json().items;
    expect(commit.message).toContain('It is ours');
  });

  test('learns what the branch of a pull request would do', async () => {
    const { page } = await open();
    await page.getByRole('link', { name: 'Plan', exact: true }).click();
    await page.getByLabel('Commit, branch or tag').fill('pr-12');
    await page.getByRole('button', { name: 'Plan' }).click();
    await page.getByText(/A push of this commit would be/).waitFor();
    await page.getByText(/1 created/).waitFor();
    await page.getByText('User ada: the rights of gitplane:team:search').waitFor();
  });
});
