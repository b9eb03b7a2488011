/**
 * Debian's chromium, for tests of what people see. One for each test file; each test has a profile
 * of its own in it. Where there is none the tests say so and are skipped.
 */
import { existsSync } from 'node:fs';
import axe from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, vi } from 'vitest';

const PROGRAM = '/usr/bin/chromium';
export const HAS_BROWSER = existsSync(PROGRAM);
if (!HAS_BROWSER) process.stderr.write(`${PROGRAM} is missing: tests in a browser are skipped\n`);

const ARGUMENTS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
];

/** Slow machines have slow browsers. */
const PATIENCE_MS = 60_000;

/**
 * Other tests change the network interfaces of this machine, and the browser drops connections. A busy
 * server answers 429, and the console asks again.
 */
const OF_MACHINE = /ERR_NETWORK_CHANGED|status of 429/;

export interface Visit {
  readonly page: Page;
  readonly context: BrowserContext;
  /**
   * Complaints of the browser: errors of scripts, refused loads, violations of the policy. Without those
   * about a busy machine.
   */
  readonly complaints: string[];
}

export interface BrowserUse {
  visit(options?: Parameters<Browser['newContext']>[0]): Promise<Visit>;
}

/** To be called at the top of a test file, or of a `describe`. */
export function useBrowser(): BrowserUse {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: PROGRAM,
      args: ARGUMENTS,
      timeout: PATIENCE_MS,
    });
  }, 2 * PATIENCE_MS);
  afterAll(async () => {
    await browser?.close();
  });
  return {
    visit: async (options = {}) => {
      const context = await browser.newContext({ ignoreHTTPSErrors: true, ...options });
      onTestFinished(() => context.close());
      context.setDefaultTimeout(PATIENCE_MS);
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on('console', (message) => {
        const isComplaint = ['error', 'warning'].includes(message.type());
        if (isComplaint && !OF_MACHINE.test(message.text())) complaints.push(message.text());
      });
      page.on('pageerror', (error) => complaints.push(String(error)));
      return { page, context, complaints };
    },
  };
}

/** Complaints about other things than requests that a test expects to be refused, by their status codes. */
export function unexpected(
  complaints: readonly string[],
  ...refusals: readonly number[]
): string[] {
  const isExpected = (text: string): boolean =>
    refusals.some((code) => text.includes(`status of ${code}`));
  return complaints.filter((text) => !isExpected(text));
}

/** A page of the console, for the holder of an access key. */
export async function openConsole(
  browser: BrowserUse,
  { url, token }: { readonly url: string; readonly token: string },
  path: string,
  options: Parameters<BrowserUse['visit']>[0] = {},
): Promise<Visit> {
  const visit = await browser.visit(options);
  const cookie = { httpOnly: true, secure: true, sameSite: 'Lax' as const };
  await visit.context.addCookies([{ name: '__Host-session', value: token, url, ...cookie }]);
  await visit.page.goto(`${url}${path}`);
  await visit.page.locator('main h1').waitFor();
  return visit;
}

/**
 * Fails with the rules that the page breaks. The script is injected past the policy of the page. It throws
 * a TypeError if an element goes while it runs, so it runs again then.
 */
export async function expectAccessible(page: Page): Promise<void> {
  const check = `${axe.source};
    axe.run({ preload: false, runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })
      .then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`;
  const found = await vi.waitUntil(
    () =>
      page.evaluate(check).catch((error: unknown) => {
        if (!String(error).includes('TypeError')) throw error;
        return undefined;
      }),
    { timeout: AXE_MS },
  );
  expect(found).toEqual([]);
}

const AXE_MS = 60_000;
