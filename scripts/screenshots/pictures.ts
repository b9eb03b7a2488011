/** The pictures: addresses, and steps before each. */
import type { Page } from 'playwright-core';

export interface Picture {
  readonly name: string;
  readonly path: string;
  /** `all`: wide and narrow, light and dark. `first`: the first of them. */
  readonly forms: 'all' | 'first';
  /** In pixels, of a wide window. */
  readonly height?: number;
  /** Steps before the picture. */
  readonly prepare?: (page: Page) => Promise<void>;
}

const STOREFRONT = '/console/objects/teams/-/storefront';
const SECRET = 'resource=sharedsecrets&namespace=payments&name=registry';

/** Without a session, before anything happened. */
export const SIGN_IN: readonly Picture[] = [{ name: 'sign-in', path: '/login', forms: 'all' }];

/** With settings of the interface. */
export const LOOK: readonly Picture[] = [
  {
    name: 'look',
    path: '/console/plan',
    forms: 'all',
    prepare: async (page) => {
      const menu = page.getByRole('button', { name: 'Menu' });
      if (await menu.isVisible()) await menu.click();
    },
  },
];

export const PICTURES: readonly Picture[] = [
  { name: 'objects', path: '/console/objects/sharedsecrets', forms: 'all' },
  {
    name: 'object',
    path: STOREFRONT,
    forms: 'all',
    prepare: async (page) => await page.getByLabel('Who set it').check(),
  },
  {
    name: 'edit',
    path: `${STOREFRONT}?tab=edit`,
    forms: 'all',
    prepare: async (page) => {
      const line = page.locator('.cm-line', { hasText: 'description:' }).first();
      const field = page.getByLabel('Description', { exact: true });
      await ((await line.isVisible()) ? line : field).click();
      await page.keyboard.press('End');
      await page.keyboard.insertText(' and buy');
      await page.locator('.line.added').waitFor();
    },
  },
  {
    name: 'edit-form',
    path: `${STOREFRONT}?tab=edit`,
    forms: 'first',
    prepare: async (page) => {
      await page.getByRole('button', { name: 'Form', exact: true }).click();
      await page.getByLabel('Users 1', { exact: true }).fill('grace');
      await page.getByText('1 opened, 1 closed').waitFor();
    },
  },
  {
    name: 'delete',
    path: `${STOREFRONT}?tab=edit`,
    forms: 'first',
    prepare: async (page) => {
      await page.getByRole('button', { name: 'Delete…' }).click();
      await page.getByRole('heading', { name: 'Effect', exact: true }).waitFor();
      await page.evaluate("document.querySelector('.opened').scrollIntoView()");
      await page.evaluate('scrollBy(0, -72)');
    },
  },
  {
    name: 'object-history',
    path: `${STOREFRONT}?tab=history`,
    forms: 'first',
    prepare: async (page) => await page.getByRole('button', { name: 'Changes' }).first().click(),
  },
  {
    name: 'history',
    path: '/console/history',
    forms: 'all',
    prepare: async (page) => await page.getByRole('button', { name: 'Time travel' }).click(),
  },
  {
    name: 'compare',
    path: '/console/history',
    forms: 'first',
    prepare: async (page) => {
      const commit = page.locator('li', { hasText: 'Says what the team does' });
      await commit.getByLabel('Compare ', { exact: false }).check();
      await page.getByRole('link', { name: 'Compare with now' }).click();
    },
  },
  { name: 'plan', path: '/console/plan?of=checkout', forms: 'all' },
  { name: 'branches', path: '/console/plan', forms: 'first' },
  {
    name: 'shortcuts',
    path: '/console/objects/teams',
    forms: 'first',
    prepare: async (page) => await page.keyboard.press('?'),
  },
  {
    name: 'access',
    path: `/console/access?as=user&subject=ada&verb=get&kind=sharedsecrets&${SECRET}`,
    forms: 'all',
  },
  {
    name: 'sync',
    path: '/console/tenants/blue',
    forms: 'first',
  },
  {
    name: 'tenants',
    path: '/console/tenants/blue/playground',
    forms: 'all',
    height: 1000,
    prepare: async (page) => {
      await page.getByRole('button', { name: 'Run the patches' }).click();
      await page.getByRole('heading', { name: 'Steps' }).scrollIntoViewIfNeeded();
    },
  },
  { name: 'config', path: '/console/config', forms: 'all' },
  { name: 'audit', path: '/console/audit?verb=patch', forms: 'all' },
  { name: 'costs', path: '/console/costs', forms: 'all' },
];

/** While a commit is held. */
export const HELD: readonly Picture[] = [
  { name: 'start', path: '/console', forms: 'all', height: 1000 },
];
