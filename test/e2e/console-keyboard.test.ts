/** Plan, access, tenants, configuration, audit and costs of the console with the keyboard alone, in a browser. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  expectAccessible,
  HAS_BROWSER,
  openConsole,
  useBrowser,
  type Visit,
} from '../support/browser.ts';
import { API, type Daemon, startDaemon } from '../support/daemon.ts';

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
const TENANT = `sync:
  toHost:
    endpoints:
      patches:
        - path: metadata.labels["team"]
          expression: '"the " + value'
`;
/** More than the elements of any page here. */
const MOST_STOPS = 150;

interface Stop {
  readonly id: string;
  readonly text: string;
  readonly hasOutline: boolean;
  readonly isInView: boolean;
}

/** Runs in the page: the element with the focus. */
const FOCUSED = `(() => {
  let { activeElement: element } = document;
  if (element === null || element === document.body) return null;
  while (element.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
  const seen = [element, element.closest('.search-field, .cm-editor, label')].filter(Boolean);
  const hasOutline = seen.some((one) => {
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(one);
    return (outlineStyle !== 'none' && outlineWidth !== '0px') || boxShadow.includes('inset');
  });
  const { top, bottom, left, right } = element.getBoundingClientRect();
  const isInView = bottom > 0 && top < innerHeight && right > 0 && left < innerWidth;
  const text = (element.getAttribute('aria-label') ?? element.innerText ?? '').trim();
  element.dataset.stop ??= String(Math.random());
  return { id: element.dataset.stop, text: element.tagName + ' ' + text.slice(0, 40), hasOutline, isInView };
})()`;

/** Runs in the page: elements that take the focus and were not reached. */
const MISSED = `[...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')]
  .filter((one) => one.dataset.stop === undefined && !one.disabled && one.tabIndex >= 0 && one.checkVisibility({ visibilityProperty: true }) && !(one.type === 'radio' && !one.checked))
  .map((one) => one.outerHTML.slice(0, 120))`;

/** Runs in the page. The editors of YAML are shadow trees. */
const IS_FOCUSED = (element: { getRootNode(): unknown }): boolean =>
  (element.getRootNode() as { readonly activeElement: unknown }).activeElement === element;

describe.skipIf(!HAS_BROWSER)('keyboard use of the console', () => {
  const browser = useBrowser();
  let daemon: Daemon;

  beforeAll(async () => {
    daemon = await startDaemon();
    const type = 'application/merge-patch+json';
    const body = { spec: { raw: CONFIG } };
    const configured = await daemon.call('PATCH', `${API}/config/platform`, { type, body });
    expect(configured.code, configured.text).toBe(200);
    const clone = await daemon.clone();
    const write = (path: string, text: string): void => {
      mkdirSync(dirname(join(clone, path)), { recursive: true });
      writeFileSync(join(clone, path), text);
    };
    const git = async (...args: string[]): Promise<void> => {
      const { code, stderr } = await daemon.git(args, clone);
      expect(code, stderr).toBe(0);
    };
    write('tenants/blue/vcluster.yaml', TENANT);
    await git('add', '.');
    await git('commit', '-qm', 'A tenant');
    await git('push', '-q');
    write(
      'teams/search.yaml',
      'apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata: {name: search}\nspec: {displayName: Search, users: [ada]}\n',
    );
    await git('add', '.');
    await git('commit', '-qm', 'A team for the search');
    await git('push', '-q', 'origin', 'HEAD:refs/heads/search');
  });
  afterAll(async () => {
    await daemon?.stop();
  });

  const open = (path: string, options?: object): Promise<Visit> =>
    openConsole(browser, daemon, path, options);

  /** Presses Tab until the element has the focus. */
  async function tabTo(page: Page, target: Locator, key = 'Tab'): Promise<void> {
    await target.waitFor();
    for (let presses = 0; presses < MOST_STOPS; presses++) {
      if (await target.evaluate(IS_FOCUSED)) return;
      // Within an editor, Tab leaves it for two seconds after Escape.
      if ((await page.locator('.cm-focused').count()) > 0) await page.keyboard.press('Escape');
      await page.keyboard.press(key);
    }
    throw new Error(`${String(target)} is not reached with ${key}`);
  }

  /** Types over the text of the field with the focus. */
  async function typeOver(page: Page, text: string): Promise<void> {
    await page.keyboard.press('Control+A');
    await page.keyboard.type(text);
  }

  const isFocused = (target: Locator): Promise<boolean> => target.evaluate(IS_FOCUSED);

  const PAGES = [
    '/console/plan',
    '/console/plan?of=search',
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

  test.each(PAGES)('every part of %s is reached, in view and outlined', async (path) => {
    const { page } = await open(path, { viewport: { width: 1280, height: 720 } });
    await page.locator('main .loading').waitFor({ state: 'detached' });
    // A field whose text is still loading takes no focus.
    await page.locator('main textarea:disabled').first().waitFor({ state: 'detached' });
    const stops: Stop[] = [];
    const known = new Set<string>();
    for (let presses = 0; presses < MOST_STOPS; presses++) {
      // An editor of YAML takes Tab for the indentation.
      const inEditor = await page.evaluate<boolean>('document.activeElement?.shadowRoot != null');
      if (inEditor) await page.keyboard.press('Escape');
      await page.keyboard.press('Tab');
      let stop = await page.evaluate<Stop | null>(FOCUSED);
      // The editor outlines itself a moment after it has the focus.
      if (stop?.hasOutline === false) {
        await page.evaluate('new Promise((end) => setTimeout(end, 100))');
        stop = await page.evaluate<Stop | null>(FOCUSED);
      }
      // A field of a time has several parts.
      if (stop?.id === stops.at(-1)?.id) continue;
      if (stop === null || known.has(stop.id)) break;
      known.add(stop.id);
      stops.push(stop);
    }
    expect(stops[0]?.text).toBe('A Skip to the content');
    expect(stops.filter(({ hasOutline }) => !hasOutline)).toEqual([]);
    expect(stops.filter(({ isInView }) => !isInView)).toEqual([]);
    expect(await page.evaluate(MISSED)).toEqual([]);
  });

  test('the list of shortcuts opens with ?, and Escape leads back', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page } = await open('/console/audit', { colorScheme });
      const user = page.getByLabel('User', { exact: true });
      await user.focus();
      await page.keyboard.type('?');
      expect(await user.inputValue()).toBe('?');
      await tabTo(page, page.getByRole('button', { name: 'Search', exact: true }).last());
      await page.keyboard.press('?');
      const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
      await dialog.waitFor();
      await expectAccessible(page);
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'hidden' });
      expect(
        await isFocused(page.getByRole('button', { name: 'Search', exact: true }).last()),
      ).toBe(true);
    }
  });

  test('a branch is chosen and planned', async () => {
    const { page } = await open('/console/plan');
    await tabTo(page, page.getByRole('link', { name: 'search', exact: true }));
    await page.keyboard.press('Enter');
    await page.getByText('A push of this commit would be accepted').waitFor();
    expect(page.url()).toBe(`${daemon.url}/console/plan?of=search`);
    await tabTo(page, page.getByLabel('Commit, branch or tag'));
    await typeOver(page, 'main');
    await page.keyboard.press('Enter');
    await page.getByText('No object would change').waitFor();
  });

  test('a manifest is pasted and planned', async () => {
    const { page } = await open('/console/plan');
    await tabTo(page, page.getByRole('link', { name: 'Pasted manifest' }));
    await page.keyboard.press('Enter');
    await tabTo(page, page.getByLabel('Manifests, as YAML or JSON'));
    await page.keyboard.insertText('kind: Tea\n');
    await tabTo(page, page.getByRole('button', { name: 'Plan' }));
    await page.keyboard.press('Enter');
    await page.getByText('It would be refused').waitFor();
  });

  test('access is explained', async () => {
    const { page } = await open('/console/access');
    await tabTo(page, page.getByLabel('Asked for'));
    await page.keyboard.type('User');
    await tabTo(page, page.getByLabel('Its name'));
    await page.keyboard.type('ada');
    await page.keyboard.press('Enter');
    await page.getByText(/^ada may/).waitFor();
  });

  test('a key is created, and revoked after a question', async () => {
    const { page } = await open('/console/access/keys');
    const opener = page.getByRole('button', { name: 'New access key' });
    await tabTo(page, opener);
    await page.keyboard.press('Enter');
    const name = page.getByLabel('Name', { exact: true });
    await name.waitFor();
    await page.keyboard.press('Escape');
    await name.waitFor({ state: 'detached' });
    expect(await isFocused(opener)).toBe(true);
    await page.keyboard.press('Enter');
    await tabTo(page, name);
    await page.keyboard.type('typed');
    await tabTo(page, page.getByLabel('Teams'));
    await page.keyboard.press('Space');
    await expectAccessible(page);
    await page.keyboard.press('Enter');
    await page.getByText('The key of typed is shown once').waitFor();
    expect(await isFocused(opener)).toBe(true);
    const revoke = page.getByRole('button', { name: 'Revoke typed' });
    await tabTo(page, revoke);
    await page.keyboard.press('Enter');
    await page.getByText('It cannot be brought back').waitFor();
    await page.keyboard.press('Escape');
    await page.getByText('It cannot be brought back').waitFor({ state: 'detached' });
    expect(await isFocused(revoke)).toBe(true);
    await page.keyboard.press('Enter');
    await page.getByText('It cannot be brought back').waitFor();
    await page.keyboard.press('Tab');
    expect(await isFocused(revoke)).toBe(true);
    await page.keyboard.press('Enter');
    await page.getByRole('rowheader', { name: 'typed' }).waitFor({ state: 'detached' });
  });

  test('a patch is run and saved', async () => {
    const { page } = await open('/console/tenants');
    await tabTo(page, page.getByRole('link', { name: 'blue' }));
    await page.keyboard.press('Enter');
    await tabTo(page, page.getByRole('link', { name: 'Playground' }));
    await page.keyboard.press('Enter');
    const settings = page.getByLabel('Settings with the patches');
    await expect.poll(() => settings.inputValue()).toContain('the ');
    await tabTo(page, page.getByRole('button', { name: 'Run the patches' }));
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Steps' }).waitFor();
    await tabTo(page, settings, 'Shift+Tab');
    await page.keyboard.press('Control+End');
    await page.keyboard.insertText('# typed\n');
    const opener = page.getByRole('button', { name: 'Save to the tenant' });
    await tabTo(page, opener);
    await page.keyboard.press('Enter');
    await page.locator('.line.added', { hasText: '# typed' }).waitFor();
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await page.locator('.line.added').waitFor({ state: 'detached' });
    expect(await isFocused(opener)).toBe(true);
    await page.keyboard.press('Enter');
    await page.locator('.line.added', { hasText: '# typed' }).waitFor();
    await tabTo(page, page.getByLabel('Reason'));
    await page.keyboard.type('By hand');
    await page.keyboard.press('Enter');
    const text = async (): Promise<string> =>
      (await daemon.call('GET', `${API}/tenants/blue/source`)).json().text;
    await expect.poll(text).toContain('# typed');
  });

  test('the configuration is checked, and events are found', async () => {
    const { page } = await open('/console/config');
    await tabTo(page, page.getByLabel('spec.raw of'));
    await page.keyboard.press('Control+End');
    await page.keyboard.insertText('projectNamespacePrefix: k-\n');
    // The first one closes the completion.
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await tabTo(page, page.getByRole('button', { name: 'Check' }));
    await page.keyboard.press('Enter');
    await page.getByText('The configuration is valid').waitFor();
    await tabTo(page, page.getByRole('link', { name: 'Audit' }), 'Shift+Tab');
    await page.keyboard.press('Enter');
    await tabTo(page, page.getByLabel('Verb'));
    await page.keyboard.type('patch');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 2, name: /request/ }).waitFor();
    await tabTo(page, page.getByRole('link', { name: 'Costs' }), 'Shift+Tab');
    await page.keyboard.press('Enter');
    await page.getByText('31.5 EUR monthly').waitFor();
  });

  test('panels of an object close with Escape, and the focus goes back', async () => {
    const { page } = await open('/console/objects/teams/-/storefront');
    const share = page.getByRole('button', { name: 'Give access' });
    await tabTo(page, share);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Show the change' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Show the change' }).waitFor({ state: 'detached' });
    expect(await isFocused(share)).toBe(true);
    const clock = page.getByRole('button', { name: 'Time travel' });
    await tabTo(page, clock, 'Shift+Tab');
    await page.keyboard.press('Enter');
    const slider = page.locator('.past-slider input:enabled');
    await tabTo(page, slider);
    await page.keyboard.press('Escape');
    await slider.waitFor({ state: 'detached' });
    expect(await isFocused(clock)).toBe(true);
  });

  test('the menu of a narrow window closes with Escape', async () => {
    const { page } = await open('/console/plan', { viewport: { width: 390, height: 844 } });
    const menu = page.getByRole('button', { name: 'Menu' });
    await tabTo(page, menu);
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Tenants' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'Tenants' }).waitFor({ state: 'hidden' });
    expect(await isFocused(menu)).toBe(true);
  });
});
