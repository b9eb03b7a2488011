/**
 * Every page of the pictures of the console, in wide and narrow windows: nothing is wider than the window,
 * no text is cut off, and no word is broken.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HELD, LOOK, PICTURES, type Picture, SIGN_IN } from '../../scripts/screenshots/pictures.ts';
import { Platform } from '../../scripts/screenshots/platform.ts';
import { HAS_BROWSER, openConsole, useBrowser } from '../support/browser.ts';

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
  for (const field of document.querySelectorAll('input, textarea')) {
    if (!field.checkVisibility({ visibilityProperty: true }) || field.closest('.vtable')) continue;
    const isText = ['text', 'search', 'textarea'].includes(field.type) && !field.value.includes('\\n');
    if (isText && field.clientWidth < 160 && field.scrollWidth > field.clientWidth) faults.push('cut off in a narrow field: ' + field.value);
  }
  return [...new Set(faults)];
})()`;

/** Contrast of a color of an element with the page behind it; paper has no color and counts as white. */
function contrastOf(selector: string, property: string): string {
  return `(() => {
    const context = new OffscreenCanvas(1, 1).getContext('2d');
    const luminanceOf = (color) => {
      context.fillStyle = '#fff';
      context.fillRect(0, 0, 1, 1);
      context.fillStyle = color;
      context.fillRect(0, 0, 1, 1);
      const [red, green, blue] = [...context.getImageData(0, 0, 1, 1).data].map((value) => {
        const part = value / 255;
        return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const own = getComputedStyle(document.querySelector(${JSON.stringify(selector)}))[${JSON.stringify(property)}];
    const [dark, light] = [own, getComputedStyle(document.body).backgroundColor]
      .map(luminanceOf)
      .sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  })()`;
}

describe.skipIf(!HAS_BROWSER)('pages of the console', () => {
  const browser = useBrowser();
  let platform: Platform;

  beforeAll(async () => {
    platform = await Platform.start(0);
  });
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

  test('marks of the focus and of tabs have a contrast of 3 : 1 on dark pages, and paper is white', async () => {
    const { page } = await openConsole(
      browser,
      { url: platform.base, token: platform.key },
      '/console/plan',
      { colorScheme: 'dark' },
    );
    expect(
      await page.evaluate(contrastOf('.tabs [aria-current]', 'borderBottomColor')),
    ).toBeGreaterThan(3);
    await page.evaluate("document.documentElement.style.colorScheme = 'dark'");
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    const scheme = 'getComputedStyle(document.documentElement).colorScheme';
    expect(await page.evaluate(scheme)).toBe('light');
    expect(await page.evaluate(contrastOf('h1', 'color'))).toBeGreaterThan(7);
    for (const hidden of ['.sidebar', '.topbar', '.tabs', 'main .button']) {
      expect(await page.locator(hidden).first().isVisible(), hidden).toBe(false);
    }
  });

  test('the buttons of a commit stand below its author on a phone, and beside it on a wide window', async () => {
    const { page } = await openConsole(
      browser,
      { url: platform.base, token: platform.key },
      '/console/history',
    );
    const commit = page.locator('.commit').first();
    const bottomOf = async (selector: string): Promise<number> => {
      const box = await commit.locator(selector).boundingBox();
      return box === null ? 0 : box.y + box.height;
    };
    expect(await bottomOf('.actions')).toBeLessThanOrEqual(await bottomOf('.entry-note'));
    await page.setViewportSize({ width: 390, height: 844 });
    const top = (await commit.locator('.actions').boundingBox())?.y;
    expect(top).toBeGreaterThanOrEqual(await bottomOf('.entry-note'));
  });

  const inWindows = (pictures: readonly Picture[]) =>
    pictures.flatMap((picture) =>
      (picture.forms === 'all' ? [1280, 390, 360] : [1280]).map(
        (width) => [picture.name, width, picture] as const,
      ),
    );

  describe('the sign-in page', () => {
    test.each(inWindows(SIGN_IN))('%s fits a window of %d pixels', fits);
  });

  test.each([1280, 390, 360])('a long host name fits a window of %d pixels', async (width) => {
    await platform.nameHost('a-long-name-of-a-platform.eu-central-1.internal.example.com');
    const { page } = await browser.visit({ viewport: { width, height: 844 } });
    await page.goto(`${platform.base}/login`);
    expect(await page.locator('.brand').innerText()).toContain('eu-central-1.internal.example.com');
    expect(await page.evaluate(FAULTS)).toEqual([]);
    const icon = await page.locator('.brand svg').boundingBox();
    expect(icon?.width).toBeGreaterThan(30);
  });

  describe('pages with settings of the interface', () => {
    beforeAll(async () => await platform.look());
    test.each(inWindows(LOOK))('%s fits a window of %d pixels', fits);
  });

  describe('pages after changes', () => {
    beforeAll(async () => await platform.change());
    test.each(inWindows(PICTURES))('%s fits a window of %d pixels', fits);
  });

  describe('pages while a commit is held', () => {
    beforeAll(async () => await platform.hold());
    test.each(inWindows(HELD))('%s fits a window of %d pixels', fits);
  });
});
