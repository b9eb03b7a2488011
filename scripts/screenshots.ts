/**
 * Pictures of the console for docs/console.md: `npm run build`, then `npx tsx scripts/screenshots.ts`. It
 * starts a daemon on the example platform, makes some changes, and needs chromium. Each picture is below
 * 100 KB.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type APIRequestContext, type BrowserContext, chromium, type Page } from 'playwright-core';

const ROOT = join(import.meta.dirname, '..');
const FOLDER = join(ROOT, 'docs', 'images');
const MOST_BYTES = 100 * 1024;
const API = '/kubernetes/management/apis/management.gitplane.dev/v1';

interface Picture {
  readonly name: string;
  readonly path: string;
  /** In pixels, where the page is too dense for a small file. */
  readonly height?: number;
  /** Steps before the picture. */
  readonly prepare?: (page: Page) => Promise<void>;
}

const STOREFRONT = '/console/objects/teams/-/storefront';
const SECRET = 'resource=sharedsecrets&namespace=payments&name=registry';

const PICTURES: readonly Picture[] = [
  { name: 'start', path: '/console' },
  { name: 'objects', path: '/console/objects/sharedsecrets' },
  {
    name: 'object',
    path: STOREFRONT,
    prepare: async (page) => await page.getByLabel('Who set it').check(),
  },
  {
    name: 'edit',
    path: `${STOREFRONT}?tab=edit`,
    prepare: async (page) => {
      await page.locator('.cm-line', { hasText: 'description:' }).first().click();
      await page.keyboard.press('End');
      await page.keyboard.insertText(' and buy');
      await page.locator('.line.added').waitFor();
    },
  },
  {
    name: 'edit-form',
    path: `${STOREFRONT}?tab=edit`,
    prepare: async (page) => {
      await page.getByRole('button', { name: 'Form', exact: true }).click();
      await page.getByLabel('Users 1', { exact: true }).fill('grace');
      await page.getByRole('heading', { name: 'Effect', exact: true }).waitFor();
    },
  },
  {
    name: 'delete',
    path: `${STOREFRONT}?tab=edit`,
    height: 520,
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
    prepare: async (page) => await page.getByRole('button', { name: 'Changes' }).first().click(),
  },
  {
    name: 'history',
    path: '/console/history',
    prepare: async (page) => await page.getByRole('button', { name: 'Time travel' }).click(),
  },
  {
    name: 'compare',
    path: '/console/history',
    prepare: async (page) => {
      await page.getByLabel('Compare ', { exact: false }).nth(4).check();
      await page.getByRole('link', { name: 'Compare with now' }).click();
      await page.getByText('1 field').first().click();
    },
  },
  { name: 'plan', path: '/console/plan?of=checkout' },
  { name: 'branches', path: '/console/plan', height: 520 },
  {
    name: 'shortcuts',
    path: '/console/objects/teams',
    height: 560,
    prepare: async (page) => await page.keyboard.press('?'),
  },
  {
    name: 'access',
    path: `/console/access?as=user&subject=ada&verb=get&kind=sharedsecrets&${SECRET}`,
  },
  {
    name: 'tenants',
    path: '/console/tenants/blue/playground',
    height: 800,
    prepare: async (page) => {
      await page.getByRole('button', { name: 'Run the patches' }).click();
      await page.getByRole('heading', { name: 'Steps' }).scrollIntoViewIfNeeded();
    },
  },
  { name: 'config', path: '/console/config', height: 500 },
  { name: 'costs', path: '/console/costs' },
];

const TENANT = `sync:
  toHost:
    endpoints:
      enabled: true
      patches:
        - path: metadata.labels["team"]
          expression: '"blue-" + value'
          reverseExpression: 'value.slice(5)'
`;
const TEAM = `apiVersion: management.gitplane.dev/v1
kind: Team
metadata:
  name: checkout
spec:
  displayName: Checkout
  owner: {team: platform}
  users: [ada, deploy-bot]
`;

const FORMS = [
  { width: 1280, height: 600, colorScheme: 'light' },
  { width: 1280, height: 600, colorScheme: 'dark' },
  { width: 390, height: 844, colorScheme: 'light' },
  { width: 390, height: 844, colorScheme: 'dark' },
] as const;

/** Every page in one form; the first ones in all. */
const IN_ALL_FORMS = ['start', 'object'];

const dataDir = mkdtempSync(join(tmpdir(), 'gitplane-screenshots-'));
mkdirSync(FOLDER, { recursive: true });
const daemon = spawn(
  process.execPath,
  [
    ...[join(ROOT, 'dist', 'main.js'), 'serve', '--data-dir', dataDir, '--log-level', 'error'],
    ...['--listen', '127.0.0.1:18499', '--seed', join(ROOT, 'examples', 'platform')],
  ],
  { stdio: ['ignore', 'pipe', 'inherit'] },
);
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  // Text in shades of grey makes small files.
  args: ['--no-sandbox', '--disable-gpu', '--disable-lcd-text'],
});
try {
  const link = await printedLink();
  const base = new URL(link).origin;
  const key = readFileSync(join(dataDir, 'admin.token'), 'utf8').trim();
  const first = await browser.newContext({ ignoreHTTPSErrors: true });
  await change(first.request, base, key);
  push(base, key);
  const page = await first.newPage();
  await page.setViewportSize({ width: 1280, height: 600 });
  await page.goto(`${base}/login`);
  await shoot(page, 'sign-in-1280-light');
  await page.goto(link);
  const state = await first.storageState();
  for (const [at, form] of FORMS.entries()) {
    const { width, height, colorScheme } = form;
    const context = await browser.newContext({
      ...{ ignoreHTTPSErrors: true, colorScheme, viewport: { width, height } },
      storageState: state,
    });
    const wanted = PICTURES.filter(({ name }) => at === 0 || IN_ALL_FORMS.includes(name));
    for (const picture of wanted) await take(context, base, { picture, form });
    await context.close();
  }
} finally {
  await browser.close();
  const ended = once(daemon, 'exit');
  daemon.kill();
  await ended;
  rmSync(dataDir, { recursive: true, force: true });
}

async function printedLink(): Promise<string> {
  let output = '';
  for await (const chunk of daemon.stdout) {
    output += String(chunk);
    const link = /https:\S+\/auth\/link\?code=\S+/.exec(output)?.[0];
    if (link !== undefined && output.includes('Try next')) return link;
  }
  throw new Error(`The daemon did not start:\n${output}`);
}

/** A platform on which something happened. */
async function change(request: APIRequestContext, base: string, key: string): Promise<void> {
  const send = async (
    method: string,
    path: string,
    data: object,
    reason: string,
  ): Promise<void> => {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': type,
      'gitplane-reason': reason,
    };
    const answer = await request.fetch(`${base}${API}/${path}`, { method, data, headers });
    if (!answer.ok()) throw new Error(`${method} ${path}: ${await answer.text()}`);
  };
  await send(
    'PATCH',
    'teams/storefront',
    { spec: { description: 'Everything that customers see' } },
    'Says what the team does',
  );
  await send(
    'POST',
    'teams',
    { metadata: { name: 'search' }, spec: { displayName: 'Search', owner: { team: 'platform' } } },
    'A team of its own for the search',
  );
  await send(
    'PATCH',
    'teams/storefront',
    { spec: { users: ['deploy-bot', 'ada'] } },
    'Ada joins the storefront',
  );
  const { spec } = (await (
    await request.get(`${base}${API}/config/platform`, {
      headers: { authorization: `Bearer ${key}` },
    })
  ).json()) as { spec: { raw: string } };
  const raw = spec.raw.replace(/costControl:\n( +)enabled: false/, 'costControl:\n$1enabled: true');
  await send('PATCH', 'config/platform', { spec: { raw } }, 'Shows costs');
}

/** A tenant, and a branch that waits for its review. */
function push(base: string, key: string): void {
  const clone = join(dataDir, 'clone');
  const env = {
    ...{ PATH: process.env['PATH'], HOME: dataDir, GIT_CONFIG_GLOBAL: '/dev/null' },
    ...{ GIT_SSL_CAINFO: join(dataDir, 'tls', 'ca.crt'), GIT_TERMINAL_PROMPT: '0' },
    ...{ GIT_AUTHOR_NAME: 'Grace', GIT_AUTHOR_EMAIL: 'grace@example.com' },
    ...{ GIT_COMMITTER_NAME: 'Grace', GIT_COMMITTER_EMAIL: 'grace@example.com' },
  };
  const git = (...args: string[]): void => {
    execFileSync('git', args, { cwd: dataDir, env, stdio: 'ignore' });
  };
  const write = (path: string, text: string, message: string): void => {
    mkdirSync(dirname(join(clone, path)), { recursive: true });
    writeFileSync(join(clone, path), text);
    git('-C', clone, 'add', '.');
    git('-C', clone, 'commit', '-qm', message);
  };
  const url = new URL('/git/platform.git', base);
  Object.assign(url, { username: 'admin', password: key });
  git('clone', '-q', url.href, clone);
  write('tenants/blue/vcluster.yaml', TENANT, 'A cluster for the storefront');
  git('-C', clone, 'push', '-q');
  write('teams/checkout.yaml', TEAM, 'A team of its own for the checkout');
  git('-C', clone, 'push', '-q', 'origin', 'HEAD:refs/heads/checkout');
}

async function take(
  context: BrowserContext,
  base: string,
  of: { readonly picture: Picture; readonly form: (typeof FORMS)[number] },
): Promise<void> {
  const { picture, form } = of;
  const page = await context.newPage();
  const { width, height } = form;
  await page.setViewportSize({ width, height: picture.height ?? height });
  await page.goto(`${base}${picture.path}`);
  await page.locator('main h1').waitFor();
  await page.waitForTimeout(1000);
  await picture.prepare?.(page);
  await page.waitForTimeout(500);
  await shoot(page, `${picture.name}-${form.width}-${form.colorScheme}`);
  await page.close();
}

async function shoot(page: Page, name: string): Promise<void> {
  const path = join(FOLDER, `console-${name}.png`);
  const { length: size } = await page.screenshot({ path });
  process.stdout.write(`${name}: ${size} bytes\n`);
  if (size > MOST_BYTES) throw new Error(`${path} is larger than ${MOST_BYTES} bytes`);
}
