/** Pages of the console in a browser: plans, access and keys, tenants, config, audit and costs. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deferred } from '../../src/concurrency/index.ts';
import { expectAccessible, HAS_BROWSER, useBrowser, type Visit } from '../support/browser.ts';
import { type Answer, API, type Daemon, startDaemon } from '../support/daemon.ts';

const GROUP = 'management.gitplane.dev/v1';
const HOSTILE = '<img src=x onerror="document.title=1">';

let daemon: Daemon;
let clone: string;
/** Access keys by user. */
const keys: Record<string, string> = {};

async function make(path: string, body: object): Promise<Answer> {
  const answer = await daemon.call('POST', path, { body });
  expect(answer.code, answer.text).toBe(201);
  return answer;
}

async function commit(
  files: Readonly<Record<string, string | null>>,
  message: string,
): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    const file = join(clone, path);
    mkdirSync(dirname(file), { recursive: true });
    if (text === null) rmSync(file);
    else writeFileSync(file, text);
  }
  await daemon.git(['add', '-A'], clone);
  await daemon.git(['commit', '-q', '-m', message], clone);
}

async function push(branch: string): Promise<void> {
  const pushed = await daemon.git(['push', '-q', 'origin', `HEAD:refs/heads/${branch}`], clone);
  expect(pushed.code, pushed.stderr).toBe(0);
}

const PATCHES = `sync:
  toHost:
    endpoints:
      patches:
        - path: metadata.labels["team"]
          expression: '"${HOSTILE.replaceAll('"', '\\"')}" + value'
`;

const CONFIG = `audit:
  enabled: true
  path: audit.log
  dataStoreEndpoint: sqlite://audit.db
  policy: {rules: [{level: Metadata}]}
costControl:
  enabled: true
  settings:
    priceCurrency: EUR
    averageCPUPricePerNode: {price: 31.5, timePeriod: Monthly}
`;

describe.skipIf(!HAS_BROWSER)('console', () => {
  const browser = useBrowser();

  beforeAll(async () => {
    daemon = await startDaemon();
    const type = 'application/merge-patch+json';
    const body = JSON.stringify({ spec: { raw: CONFIG } });
    const configured = await daemon.call('PATCH', `${API}/config/platform`, { type, body });
    expect(configured.code, configured.text).toBe(200);
    await make(`${API}/users`, { metadata: { name: 'none' } });
    keys['none'] = (
      await make(`${API}/ownedaccesskeys`, { spec: { user: 'none' } })
    ).json().spec.key;
    clone = await daemon.clone();
    await commit({ 'tenants/blue/vcluster.yaml': PATCHES }, 'A tenant');
    await push('main');
    await commit(
      {
        'teams/bakers.yaml': `apiVersion: ${GROUP}\nkind: Team\nmetadata:\n  name: bakers\nspec:\n  displayName: '${HOSTILE}'\n  users: [ada]\n`,
        'namespaces/payments/access.yaml': null,
      },
      HOSTILE,
    );
    await push('feature');
  });

  afterAll(async () => {
    await daemon.stop();
  });

  /** A page of the console for the holder of a key. */
  async function open(
    path: string,
    of: { as?: string; width?: number; colorScheme?: 'light' | 'dark' } = {},
  ): Promise<Visit> {
    const { as, width = 1280, colorScheme = 'light' } = of;
    const viewport = { width, height: 900 };
    const visit = await browser.visit({ viewport, colorScheme });
    const value = as === undefined ? daemon.token : (keys[as] ?? '');
    const cookie = { name: '__Host-session', value, url: daemon.url };
    await visit.context.addCookies([{ ...cookie, secure: true, httpOnly: true, sameSite: 'Lax' }]);
    await visit.page.goto(`${daemon.url}${path}`);
    await visit.page.locator('main h1').waitFor();
    return visit;
  }

  const main = (page: Page): Promise<string> => page.locator('main').innerText();

  /** No script of a text ran, and the page refused nothing. */
  async function expectCalm({ page, complaints }: Visit): Promise<void> {
    expect(await page.title()).not.toBe('1');
    expect(await page.locator('main img').count()).toBe(0);
    expect(complaints).toEqual([]);
  }

  test('a plan of a branch shows its objects, and whose access opens and closes', async () => {
    const visit = await open('/console/plan');
    const { page } = visit;
    await page.getByLabel('Commit, branch or tag').fill('feature');
    await page.getByRole('button', { name: 'Plan' }).click();
    await page.getByText('A push of this commit would be accepted').waitFor();
    expect(page.url()).toBe(`${daemon.url}/console/plan?of=feature`);
    const text = await main(page);
    expect(text).toContain('1 created, 2 removed');
    expect(text).toContain('User ada: the rights of gitplane:team:bakers');
    expect(text).toMatch(/Group gitplane:team:payments: Role\/secret-editor/);
    await page.getByText('2 fields').click();
    expect(await main(page)).toContain(HOSTILE);
    await expectCalm(visit);
  });

  test('a pasted manifest is tried and not written', async () => {
    const { page } = await open('/console/plan?from=manifest');
    await page
      .getByLabel('Manifests, as YAML or JSON')
      .fill(
        `apiVersion: ${GROUP}\nkind: Team\nmetadata: {name: storefront}\nspec: {displayName: Shop}\n---\nkind: Tea\n`,
      );
    await page.getByRole('button', { name: 'Plan' }).click();
    await page.getByText('It would be refused').waitFor();
    expect(await main(page)).toMatch(/spec\.displayName\s+Storefront\s+Shop/);
    const team = await daemon.call('GET', `${API}/teams/storefront`);
    expect(team.json().spec.displayName).toBe('Storefront');
  });

  test('access is explained with its chain of rules', async () => {
    const { page } = await open('/console/access');
    await page.getByLabel('Asked for').selectOption('User');
    await page.getByLabel('Its name').fill('ada');
    await page.getByLabel('Kind').selectOption('Shared secrets');
    await page.getByRole('textbox', { name: 'Namespace' }).fill('payments');
    await page.getByLabel('Name', { exact: true }).fill('registry');
    await page.getByRole('button', { name: 'Explain' }).click();
    await page.getByText('ada may do this').waitFor();
    expect(await main(page)).toMatch(
      /RoleBinding payments\/secret-editors\s*Role payments\/secret-editor/,
    );
    await page.getByRole('link', { name: 'Who' }).click();
    await page.goto(
      `${daemon.url}/console/access/who?verb=get&kind=sharedsecrets&namespace=payments&name=registry`,
    );
    await page.getByText('subjects').waitFor();
    expect(await main(page)).toContain('deploy-bot');
  });

  test('a key is created with a scope, shown once, rotated and revoked', async () => {
    const { page } = await open('/console/access/keys');
    await page.getByRole('button', { name: 'New access key' }).click();
    await page.getByLabel('Name', { exact: true }).fill('clicked');
    await page.getByLabel('Teams').check();
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByText('The key of clicked is shown once').waitFor();
    const shown = (): Promise<string> => page.locator('.once code').innerText();
    const first = await shown();
    const answers = async (token: string): Promise<number[]> =>
      await Promise.all(
        ['teams', 'users'].map(
          async (of) => (await daemon.call('GET', `${API}/${of}`, { token })).code,
        ),
      );
    expect(await answers(first)).toEqual([200, 403]);

    await page.getByRole('button', { name: 'Rotate clicked' }).click();
    await page.getByRole('button', { name: 'Rotate clicked' }).click();
    await expect.poll(shown).not.toBe(first);
    const second = await shown();
    expect(await answers(first)).toEqual([401, 401]);
    expect(await answers(second)).toEqual([200, 403]);

    await page.reload();
    await page.getByRole('button', { name: 'Revoke clicked' }).waitFor();
    expect(await main(page)).not.toContain(second);
    await page.getByRole('button', { name: 'Revoke clicked' }).click();
    await page.getByRole('button', { name: 'Revoke clicked' }).click();
    await expect.poll(() => answers(second)).toEqual([401, 401]);
  });

  test('the playground explains each patch', async () => {
    const visit = await open('/console/tenants/blue/playground');
    const { page } = visit;
    await expect
      .poll(() => page.getByLabel('Settings with the patches').inputValue())
      .toContain('patches');
    await page.getByRole('button', { name: 'Run the patches' }).click();
    await page.getByRole('heading', { name: 'Steps' }).waitFor();
    expect(await main(page)).toContain(`${HOSTILE}storefront`);
    expect(await main(page)).toMatch(/units? of fuel/);
    await expectCalm(visit);
  });

  test('the playground runs nothing before the settings of the tenant are there', async () => {
    const { page } = await open('/console/tenants');
    const released = deferred<void>();
    await page.route(`**${API}/tenants/blue/source`, async (route) => {
      await released.promise;
      await route.continue();
    });
    await page.goto(`${daemon.url}/console/tenants/blue/playground`);
    const run = page.getByRole('button', { name: 'Run the patches' });
    const settings = page.getByLabel('Settings with the patches');
    await run.waitFor();
    expect([await run.isEnabled(), await settings.isEnabled()]).toEqual([false, false]);
    released.resolve();
    await run.click();
    await page.getByRole('heading', { name: 'Steps' }).waitFor();
    expect(await main(page)).toContain(`${HOSTILE}storefront`);
  });

  test('a patch is tried forward and back, and saved to the tenant as a commit', async () => {
    const { page } = await open('/console/tenants/blue/playground');
    const settings = page.getByLabel('Settings with the patches');
    await expect.poll(() => settings.inputValue()).toContain('patches');
    const before = await settings.inputValue();
    const pair = `        # There and back
        - path: metadata.annotations["mark"]
          expression: '"x-" + (value ?? "")'
          reverseExpression: 'value.slice(2)'
`;
    await settings.fill(before + pair);
    await page.getByRole('button', { name: 'Run the patches' }).click();
    await page.getByRole('button', { name: 'Try the way back' }).click();
    await expect(page.getByLabel('Direction').inputValue()).resolves.toBe('reverse');
    await page.getByRole('button', { name: 'Run the patches' }).click();
    await page.getByRole('heading', { name: 'Steps' }).waitFor();
    expect(await main(page)).toContain('It has no reverseExpression.');
    await page.getByRole('button', { name: 'Save to the tenant' }).click();
    await page.locator('.line.added', { hasText: '# There and back' }).waitFor();
    await page.getByLabel('Reason').fill('Marks');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    const source = `${API}/tenants/blue/source`;
    await expect
      .poll(async () => (await daemon.call('GET', source)).json().text)
      .toBe(before + pair);
    const [commit] = (await daemon.call('GET', '/commits?limit=1')).json().items;
    expect(commit).toMatchObject({ subject: 'update Tenant "blue"', author: { name: 'admin' } });
    expect(commit.message).toContain('Marks');
  });

  test('a problem of the configuration is shown at its line, and a valid one is saved', async () => {
    const { page } = await open('/console/config');
    const raw = page.getByLabel('spec.raw of');
    await raw.fill(`${CONFIG}auth:\n  oidc: {issuer: x}\n`);
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByText('The configuration is refused').waitFor();
    expect(await main(page)).toMatch(/did you mean "issuerUrl"/);
    await page.locator('.cm-lintRange-error', { hasText: 'issuer' }).waitFor();
    await raw.press('Control+End');
    await page.keyboard.type('costC');
    await page.locator('.cm-completionLabel', { hasText: 'costControl' }).waitFor();
    await page.keyboard.press('Escape');
    await raw.fill(`${CONFIG}projectNamespacePrefix: q-\n`);
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByText('The configuration is valid').waitFor();
    await page.getByLabel('Reason, for the commit').fill('Another prefix');
    await page.getByRole('button', { name: 'Save' }).click();
    await expect
      .poll(
        async () =>
          (await daemon.call('GET', `${API}/config/platform`)).json().status.projectNamespacePrefix,
      )
      .toBe('q-');
  });

  test('a connector whose provider does not answer fails its test', async () => {
    const type = 'application/merge-patch+json';
    const oidc =
      'auth:\n  oidc: {issuerUrl: https://127.0.0.1:9, clientId: x, clientSecret: y, redirectURI: https://x.example/auth/oidc/callback}\n';
    const save = async (raw: string): Promise<void> => {
      const body = JSON.stringify({ spec: { raw } });
      const saved = await daemon.call('PATCH', `${API}/config/platform`, { type, body });
      expect(saved.code, saved.text).toBe(200);
    };
    await save(CONFIG + oidc);
    const { page } = await open('/console/config');
    await page.getByRole('button', { name: 'Test OpenID Connect' }).click();
    await page.getByText(/refused with status \d+/).waitFor();
    await save(CONFIG);
  });

  test('audit events are found by user and verb', async () => {
    await make(`${API}/teams`, { metadata: { name: 'audited' } });
    const { page } = await open('/console/audit');
    await page.getByLabel('Verb').fill('create');
    await page.getByLabel('Name', { exact: true }).fill('audited');
    await expect
      .poll(async () => {
        await page.getByRole('button', { name: 'Search', exact: true }).click();
        await page.reload();
        await page.locator('main h2').first().waitFor();
        return await main(page);
      })
      .toMatch(/admin\s+create\s+teams audited/);
    // One row per request, with its stages. The first one does not know the name yet.
    await page.getByLabel('Name', { exact: true }).fill('');
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    const rows = page.locator('main .rows > li', { hasText: 'audited' });
    await rows.getByText('2 stages').click();
    expect(await rows.count()).toBe(1);
    await rows.getByText('RequestReceived').waitFor();
    expect(await rows.innerText()).toMatch(/ResponseComplete\s+\d+ ms later/);
    expect(
      await page
        .getByRole('link', { name: /^Commit / })
        .first()
        .getAttribute('href'),
    ).toMatch(/^\/console\/objects\/teams\/-\/audited\?at=[0-9a-f]{40}$/);
    await rows.getByRole('link', { name: 'audited' }).click();
    await page.getByRole('heading', { level: 1, name: 'audited' }).waitFor();
  });

  test('costs name their unknown parts', async () => {
    const { page } = await open('/console/costs');
    await page.getByText('31.5 EUR monthly').waitFor();
    await page.getByText('its cluster is served by the platform').waitFor();
    expect(await main(page)).toContain('1 tenant without a sum');
    // A sum of nothing is not zero.
    expect(await main(page)).not.toMatch(/Sum of 0|\b0 EUR/);
  });

  const PAGES = [
    '/console/plan?of=feature',
    '/console/plan?from=manifest',
    '/console/access?verb=get&kind=teams',
    '/console/access/who?verb=get&kind=teams',
    '/console/access/keys',
    '/console/access/logins',
    '/console/access/teams',
    '/console/tenants',
    '/console/tenants/blue',
    '/console/tenants/blue/playground',
    '/console/config',
    '/console/audit',
    '/console/costs',
  ];

  const FORMS = [
    [1280, 'light'],
    [1280, 'dark'],
    [390, 'light'],
    [390, 'dark'],
  ] as const;

  test.each(PAGES)('%s is accessible and fits wide and narrow windows', async (path) => {
    for (const [width, colorScheme] of FORMS) {
      const visit = await open(path, { width, colorScheme });
      await visit.page.locator('main .loading').waitFor({ state: 'detached' });
      await expectAccessible(visit.page);
      const overflow: unknown = await visit.page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      expect(overflow).toBe(0);
      await expectCalm(visit);
    }
  });

  test.each(PAGES)('%s shows a user without rights nothing', async (path) => {
    const { page } = await open(path, { as: 'none' });
    await page.locator('main .loading').waitFor({ state: 'detached' });
    const text = await main(page);
    expect(text).not.toMatch(/payments|ada|bakers|31\.5|sqlite|secret-editor|deploy-bot/);
  });

  test('plans and access are used with the keyboard alone', async () => {
    const { page } = await open('/console/plan');
    await page.getByLabel('Commit, branch or tag').focus();
    await page.keyboard.type('feature');
    await page.keyboard.press('Enter');
    await page.getByText(/A push of this commit would be/).waitFor();
    await page.getByRole('link', { name: 'Access' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Access' }).waitFor();
    await page.getByRole('button', { name: 'Explain' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('may do this').waitFor();
  });
});
