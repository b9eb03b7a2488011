/** Addresses of the console that name nothing, in a browser: the page says what is wrong. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  expectAccessible,
  HAS_BROWSER,
  openConsole,
  unexpected,
  useBrowser,
} from '../support/browser.ts';
import { API, type Daemon, startDaemon } from '../support/daemon.ts';

const ADDRESSES = [
  ['/console/%E0%A4%A', '%E0%A4%A is not valid percent encoding'],
  ['/console/objects/teams/-/%FF', '%FF is not valid percent encoding'],
  ['/console?at=garbage', 'at=garbage is neither a commit nor a time'],
  ['/console/objects/teams?at=garbage', 'at=garbage is neither a commit nor a time'],
  ['/console?at=00000000', 'the branch has no commit 00000000'],
  [`/console/history?at=${'x'.repeat(4000)}`, 'is neither a commit nor a time'],
  ['/console/nothing', 'No page has this address'],
  ['/console/objects/teams/storefront', 'No page has this address'],
  ['/console/objects/teams/-/storefront/spec', 'No page has this address'],
  ['/console/access/nothing', 'No page has this address'],
  ['/console/history/nothing', 'No page has this address'],
  ['/console/objects/nothing', 'No kind is called nothing'],
  ['/console/objects/nothing/-/x', 'No kind is called nothing'],
  ['/console/objects/teams/-/nothing', '"nothing" not found'],
  ['/console/objects/teams?labels=((((', 'unable to parse requirement'],
  ['/console/objects/sharedsecrets?namespace=..', 'No namespace is called ..'],
  [`/console/objects/teams?filter=${'x'.repeat(8000)}`, '0 of 3 objects'],
  ['/console/access?kind=nothing', 'No kind is called nothing'],
  ['/console/tenants/nothing', '"nothing" not found'],
  ['/console/plan?of=nothing', 'This cannot be planned'],
  ['/console/history/compare?from=garbage', 'garbage'],
] as const;

describe.skipIf(!HAS_BROWSER)('an address that names nothing', () => {
  const browser = useBrowser();
  let daemon: Daemon;

  beforeAll(async () => {
    daemon = await startDaemon();
  });
  afterAll(async () => {
    await daemon?.stop();
  });

  const named = ADDRESSES.map(([path, text]) => [path.slice(0, 60), path, text] as const);
  test.each(named)('%s leads to a page that says what is wrong', async (_name, path, text) => {
    const { page, complaints } = await openConsole(browser, daemon, path);
    await page.locator('main').getByText(text).first().waitFor();
    await expectAccessible(page);
    // The navigation leads on.
    await page.getByRole('link', { name: 'Objects', exact: true }).first().click();
    await page.getByRole('heading', { level: 1, name: 'Config' }).waitFor();
    expect(unexpected(complaints, 400, 404, 422)).toEqual([]);
  });

  test('a broken percent encoding stays refused for clients other than the console', async () => {
    for (const [method, path] of [
      ['GET', `${API}/teams/%E0%A4%A`],
      ['POST', '/console/%E0%A4%A'],
    ] as const) {
      expect((await daemon.call(method, path)).code, path).toBe(400);
    }
  });

  test('a broken address leads through the sign-in page', async () => {
    const { page } = await browser.visit();
    await page.goto(`${daemon.url}/console/%E0%A4%A`);
    expect(new URL(page.url()).pathname).toBe('/login');
  });
});
