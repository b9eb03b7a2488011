/**
 * Every page of the pictures of the console, in wide and narrow windows: nothing is wider than the window,
 * no text is cut off, and no word is broken.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HELD, LOOK, PICTURES, type Picture, SIGN_IN } from '../../scripts/screenshots/pictures.ts';
import { Platform } from '../../scripts/screenshots/platform.ts';
import { HAS_BROWSER, useBrowser } from '../support/browser.ts';

/** Lines of code and rows of kinds may be longer than the window: they are scrolled. */
const SCROLLED = 'pre, .code, .diff, nav[aria-label="Kinds"], textarea';
/** A long value of a cell ends with an ellipsis; the page of the object has the whole of it. */
const SHORTENED = '.vrow > td:not(:has(.badge)), .past-text';

/** Texts of the page that are cut off, or that have a word in two lines. */
const FAULTS = `(() => {
  const faults = [];
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) faults.push('the page is wider than the window');
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode;
    const element = node.parentElement;
    const text = node.data.trim();
    if (text === '' || !element.checkVisibility({ visibilityProperty: true })) continue;
    if (element.closest('script, style, .visually-hidden, .skip')) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    if (box.width === 0) continue;
    for (let at = element; at !== document.body && at !== null; at = at.parentElement) {
      if (getComputedStyle(at).overflowX === 'visible') continue;
      if (at.matches(${JSON.stringify(SCROLLED)}) || at.matches(${JSON.stringify(SHORTENED)})) break;
      const { left, right } = at.getBoundingClientRect();
      const isShortened = at.matches('td') && at.scrollWidth > at.clientWidth;
      if (isShortened || box.left < left - 1 || box.right > right + 1) faults.push('cut off: ' + text);
    }
    const isScrolled = element.closest(${JSON.stringify(SCROLLED)}) !== null;
    if (!isScrolled && (box.left < -1 || box.right > width + 1)) faults.push('outside: ' + text);
    if (element.closest('code, pre, .mono, .place')) continue;
    for (const { index, 0: word } of node.data.matchAll(/(?<![\\w-])[A-Za-z]{2,18}(?![\\w-])/g)) {
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      const tops = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
      if (tops.size > 1) faults.push('broken: ' + word + ' in ' + text);
    }
  }
  return [...new Set(faults)];
})()`;

describe.skipIf(!HAS_BROWSER)('pages of the console', () => {
  const browser = useBrowser();
  let platform: Platform;

  beforeAll(async () => {
    platform = await Platform.start(0);
  }, 120_000);
  afterAll(async () => {
    await platform?.stop();
  });

  async function fits(_name: string, width: number, picture: Picture): Promise<void> {
    const { page, context } = await browser.visit({ viewport: { width, height: 844 } });
    if (!SIGN_IN.includes(picture)) {
      const cookie = { httpOnly: true, secure: true, sameSite: 'Lax' as const };
      const { base: url, key: value } = platform;
      await context.addCookies([{ name: '__Host-session', value, url, ...cookie }]);
    }
    await page.goto(`${platform.base}${picture.path}`);
    await page.locator('main h1').waitFor();
    await page.locator('main .loading').first().waitFor({ state: 'detached' });
    await picture.prepare?.(page);
    expect(await page.evaluate(FAULTS)).toEqual([]);
  }

  const inWindows = (pictures: readonly Picture[]) =>
    pictures.flatMap((picture) =>
      (picture.forms === 'all' ? [1280, 390, 360] : [1280]).map(
        (width) => [picture.name, width, picture] as const,
      ),
    );

  describe('before the sign-in', () => {
    test.each(inWindows(SIGN_IN))('%s fits a window of %d pixels', fits);
  });

  describe('with settings of the interface', () => {
    beforeAll(async () => await platform.look());
    test.each(inWindows(LOOK))('%s fits a window of %d pixels', fits);
  });

  describe('with changes', () => {
    beforeAll(async () => await platform.change(), 120_000);
    test.each(inWindows(PICTURES))('%s fits a window of %d pixels', fits);
  });

  describe('while a commit is held', () => {
    beforeAll(async () => await platform.hold(), 120_000);
    test.each(inWindows(HELD))('%s fits a window of %d pixels', fits);
  });
});
