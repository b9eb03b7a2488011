/** The start page of the console, in a browser: a held commit is approved by a click, favourites are one key away. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectAccessible, HAS_BROWSER, openConsole, useBrowser } from '../support/browser.ts';
import { API, type Daemon, RBAC, startDaemon } from '../support/daemon.ts';

describe.skipIf(!HAS_BROWSER)('the start page', () => {
  const browser = useBrowser();
  let daemon: Daemon;
  let viewer: string;

  async function git(folder: string, ...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await daemon.git(args, folder);
    expect(code, stderr).toBe(0);
    return stdout.trim();
  }

  async function make(path: string, body: object): Promise<{ spec: { key: string } }> {
    const answer = await daemon.call('POST', path, { body });
    expect(answer.code, answer.text).toBe(201);
    return answer.json();
  }

  beforeAll(async () => {
    daemon = await startDaemon({
      args: ['--prune-budget-objects', '1', '--prune-budget-percent', '1'],
    });
    await make(`${API}/users`, { metadata: { name: 'viewer' } });
    viewer = (await make(`${API}/ownedaccesskeys`, { spec: { user: 'viewer' } })).spec.key;
    await make(`${RBAC}/clusterroles`, {
      metadata: { name: 'viewer' },
      rules: [{ nonResourceURLs: ['/sync'], verbs: ['get'] }],
    });
    await make(`${RBAC}/clusterrolebindings`, {
      metadata: { name: 'viewer' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'viewer' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'viewer' }],
    });
    const clone = await daemon.clone();
    rmSync(join(clone, 'teams'), { recursive: true });
    await git(clone, 'commit', '-qam', 'Remove every team');
    // No hook judges what is moved beside it.
    const bare = join(daemon.dataDir, 'repo.git');
    await git(bare, 'fetch', '-q', clone, 'main');
    await git(bare, 'update-ref', 'refs/heads/main', await git(clone, 'rev-parse', 'HEAD'));
  });
  afterAll(async () => {
    await daemon?.stop();
  });

  test('shows a held commit to a person who may not approve it, without a button', async () => {
    const { page } = await openConsole(browser, { url: daemon.url, token: viewer }, '/console');
    await page.getByRole('heading', { name: 'Held' }).waitFor();
    await page.getByText('3 objects would be removed').click();
    await page.getByText('teams/storefront.yaml').waitFor();
    expect(await page.getByRole('button', { name: 'Approve' }).count()).toBe(0);
  });

  test('leads to a favourite by one key', async () => {
    const { page } = await openConsole(browser, daemon, '/console/objects/users/-/ada');
    await page.getByRole('button', { name: 'Favourite' }).click();
    await page.goto(`${daemon.url}/console/objects/users/-/deploy-bot`);
    // Its page is among the recent ones when the object was loaded.
    const stored = async (): Promise<string> =>
      JSON.stringify((await page.context().storageState()).origins);
    await expect.poll(stored).toContain('deploy-bot');
    await page.goto(`${daemon.url}/console`);
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await page.keyboard.press('/');
    const [first, second] = [0, 1].map((at) => page.getByRole('option').nth(at));
    await first?.waitFor();
    expect(await first?.innerText()).toContain('ada');
    expect(await second?.innerText()).toContain('deploy-bot');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'ada' }).waitFor();
  });

  test('approves a held commit by a click, and says that all is well', async () => {
    const teams = async (): Promise<number> =>
      (await daemon.call('GET', `${API}/teams`)).json().items.length;
    const { page, complaints } = await openConsole(browser, daemon, '/console');
    await page.getByRole('heading', { name: 'Held' }).waitFor();
    await expectAccessible(page);
    expect(await teams()).toBe(3);
    await page.getByLabel('Reason').fill('The teams moved to another platform');
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('heading', { name: 'Held' }).waitFor({ state: 'detached' });
    await page.getByRole('heading', { name: 'All is well' }).waitFor();
    expect(await teams()).toBe(0);
    expect(complaints).toEqual([]);
  });
});
