/**
 * Hostile texts of other people in the console, in a browser: names of authors, branches and files, subjects,
 * display names, messages of events, clusters, problems and expressions. Each is shown as the text that it is:
 * no element, script, dialog, request or link comes of it.
 */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  HAS_BROWSER,
  openConsole,
  unexpected,
  useBrowser,
  type Visit,
} from '../support/browser.ts';
import {
  type HostilePlatform,
  hostile,
  hostileName,
  OVERRIDE,
  startHostilePlatform,
} from '../support/hostile-texts.ts';

const branch = encodeURIComponent(hostileName('branch'));
const tag = encodeURIComponent(hostileName('tag'));
const quoted = (text: string): string => JSON.stringify(text).slice(1, -1);
const author = hostileName('author').replace(/[<>]/g, '');
const kind = (of: string, name = 'planted'): string => `/console/objects/${of}/-/${name}`;
const secret = '/console/objects/sharedsecrets/payments/planted';

/** Pages, and the texts that each one shows. Buttons with these names are pressed. */
const PAGES: readonly (readonly [
  path: string,
  texts: readonly string[],
  press?: readonly string[],
])[] = [
  [
    '/console',
    [
      quoted(hostile('field')),
      quoted(hostile('bad-field')),
      hostileName('problem-file'),
      hostileName('file'),
      hostile('suspension'),
      hostile('cluster'),
      'degrading-author"onclick="document.title=1',
      hostile('degrading'),
      hostile('button'),
    ],
  ],
  ['/console/objects/teams', [hostile('team'), 'deceiving [U+202E]txt.exe']],
  [kind('teams', 'deceiving'), ['deceiving [U+202E]txt.exe']],
  [`${kind('teams', 'deceiving')}?tab=yaml`, ['deceiving [U+202E]txt.exe']],
  ['/console/objects/sharedsecrets', [hostile('secret')]],
  ['/console/objects/events.core', [hostile('event-reason'), hostile('event-message')]],
  [
    kind('teams'),
    [
      ...[hostile('team'), hostile('description'), hostile('member'), hostile('group')],
      hostile('annotation'),
    ],
    ['Who set it'],
  ],
  [kind('teams', 'filed'), [author], ['Who set it']],
  [kind('teams', 'payments'), [quoted(hostile('field')), hostile('degrading')]],
  [`${kind('teams')}?tab=events`, [hostile('event-reason'), hostile('event-message')]],
  [`${kind('teams')}?tab=yaml`, [hostile('annotation'), hostile('description')]],
  [`${kind('teams')}?tab=edit`, [hostile('team'), hostile('description')], ['Delete…']],
  [`${kind('teams', 'filed')}?tab=yaml`, [hostileName('file')]],
  [
    `${kind('teams', 'payments')}?tab=history`,
    [hostile('degrading'), 'degrading-author"onclick="document.title=1', quoted(hostile('field'))],
    ['Changes'],
  ],
  [secret, [hostile('secret'), hostile('reader')], ['Give access']],
  [`${secret}?tab=edit`, [hostile('secret'), hostile('value')], ['Show spec.data.key']],
  [kind('clusterrolebindings.rbac.authorization.k8s.io'), [hostile('subject')]],
  [
    '/console/history',
    [hostile('subject-line'), hostile('body'), author, hostile('degrading')],
    ['Changes'],
  ],
  [
    '/console/plan',
    [hostileName('branch'), hostile('branch-subject'), `branch-author [U+202E]nimda`],
  ],
  [
    `/console/plan?of=${branch}`,
    [
      hostileName('branch'),
      hostile('planned'),
      hostileName('problem-file'),
      quoted(hostile('bad-field')),
    ],
  ],
  [`/console/plan?of=${tag}`, [hostileName('tag')]],
  ['/console/access/who?verb=get&kind=teams&name=planted', [hostile('subject')]],
  [
    `/console/access?as=User&name=${encodeURIComponent(hostile('asked'))}&verb=get&kind=teams`,
    [hostile('asked')],
    ['Explain'],
  ],
  ['/console/access/keys', [hostile('key')]],
  ['/console/access/teams', [hostile('team'), hostile('member'), hostile('group')]],
  ['/console/tenants', []],
  ['/console/tenants/blue', [hostile('cluster')]],
  ['/console/tenants/blue/playground', [hostile('expression')], ['Run the patches']],
  [kind('tenants', 'blue'), [quoted(hostile('expression')), hostile('cluster')]],
  ['/console/config', [hostile('currency'), hostile('button')]],
  [`/console/audit?name=${encodeURIComponent(hostileName('asked'))}`, [hostileName('asked')]],
  ['/console/costs', [hostile('currency'), hostile('suspension')]],
];

/** Runs in the page: texts of all elements, of fields, and of the editor in its shadow root. */
const READ = `(() => {
  for (const one of document.querySelectorAll('details')) one.open = true;
  const fields = [...document.querySelectorAll('input, textarea')].map(({ value }) => value);
  const inner = [...document.querySelectorAll('*')].flatMap(({ shadowRoot }) =>
    shadowRoot === null ? [] : [...shadowRoot.querySelectorAll('.cm-line')].map((line) => line.textContent));
  return [document.body.innerText, ...fields, inner.join('\\n')].join('\\n');
})()`;

/** Runs in the page: elements and attributes that no page of ours has, and links that leave http(s). */
const INJECTED = `(() => {
  const roots = [document, ...[...document.querySelectorAll('*')].flatMap(({ shadowRoot }) => shadowRoot ?? [])];
  const all = roots.flatMap((root) => [...root.querySelectorAll('*')]);
  const links = all.filter((one) => ['href', 'src', 'action', 'formaction', 'xlink:href'].some((name) => one.hasAttribute(name)));
  return [
    ...all.filter((one) => one.matches('iframe, object, embed, base, body script, svg script')).map((one) => one.outerHTML),
    ...all.filter((one) => one.matches('img:not(.logo, .cm-widgetBuffer), a a')).map((one) => one.outerHTML),
    ...all.flatMap((one) => one.getAttributeNames().filter((name) => name.startsWith('on')).map((name) => one.tagName + ' ' + name)),
    ...links.filter((one) => {
      const target = one.getAttribute('href') ?? one.getAttribute('src') ?? one.getAttribute('action') ?? '';
      const { origin, protocol } = new URL(target, location.href);
      return origin !== location.origin && !(protocol === 'data:' && one.matches('img.logo, link[rel=icon]'));
    }).map((one) => one.outerHTML.slice(0, 300)),
  ];
})()`;

describe.skipIf(!HAS_BROWSER)('hostile texts in the console', () => {
  const browser = useBrowser();
  let platform: HostilePlatform;

  beforeAll(async () => {
    platform = await startHostilePlatform();
  });
  afterAll(async () => {
    await platform?.stop();
  });

  async function open(path: string, width = 1280): Promise<Visit & { readonly left: string[] }> {
    const left: string[] = [];
    const { daemon } = platform;
    const visit = await openConsole(browser, daemon, '/console', {
      viewport: { width, height: 900 },
    });
    visit.page.on('dialog', (dialog) => {
      left.push(`dialog ${dialog.message()}`);
      void dialog.dismiss();
    });
    visit.page.on('request', (request) => {
      const { origin, protocol } = new URL(request.url());
      if (origin !== daemon.url && protocol !== 'data:') left.push(request.url());
    });
    await visit.page.goto(`${daemon.url}${path}`);
    await visit.page.locator('main h1').waitFor();
    await visit.page.locator('main .loading').first().waitFor({ state: 'detached' });
    return { ...visit, left };
  }

  async function press(page: Page, names: readonly string[]): Promise<void> {
    for (const name of names) {
      const button = page.getByRole('button', { name, exact: true });
      const box = page.getByRole('checkbox', { name, exact: true });
      await button.or(box).first().waitFor();
      for (const one of await button.or(box).all()) await one.click();
    }
  }

  test.each(PAGES.map(([path, texts, buttons = []]) => [path, texts, buttons] as const))(
    '%s shows them as texts',
    async (path, texts, buttons) => {
      const { page, complaints, left } = await open(path);
      await press(page, buttons);
      for (const text of texts) {
        await expect
          .poll(async () => await page.evaluate<string>(READ), { message: text })
          .toContain(text);
      }
      expect(await page.evaluate(INJECTED)).toEqual([]);
      expect(await page.evaluate('document.body.innerText')).not.toContain(OVERRIDE);
      expect(await page.title()).not.toBe('1');
      expect(left).toEqual([]);
      expect(unexpected(complaints, 400, 403, 404, 409, 422, 503)).toEqual([]);
    },
  );

  test('the editor shows a character that reverses the text', async () => {
    const { page } = await open(`${kind('teams', 'deceiving')}?tab=edit`);
    await page.locator('.cm-specialChar').waitFor();
    expect(await page.evaluate(INJECTED)).toEqual([]);
  });

  test('the search shows them as texts', async () => {
    const { page, left } = await open('/console');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('combobox').fill(hostile('team').slice(0, 30));
    await page.getByRole('option', { name: 'planted' }).first().waitFor();
    expect(await page.evaluate(READ)).toContain(hostile('team'));
    expect(await page.evaluate(INJECTED)).toEqual([]);
    expect(left).toEqual([]);
  });

  test.each([
    '/console/objects/teams',
    kind('teams', 'long'),
    `${kind('teams', 'long')}?tab=yaml`,
    `${kind('teams', 'long')}?tab=edit`,
    kind('teams', 'planted'),
    '/console/history',
    '/console/plan',
    '/console/tenants/blue',
    '/console/costs',
  ])('very long words do not widen %s', async (path) => {
    for (const width of [1280, 390]) {
      const { page } = await open(path, width);
      const overflow: unknown = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      expect(overflow, `${width} pixels`).toBe(0);
    }
  });
});
