/**
 * Pictures of the console for docs/console.md: `npm run build`, then `npx tsx scripts/screenshots.ts`. It
 * starts a daemon on the example platform, makes some changes, and needs chromium. Names of pictures as
 * arguments take these alone. Each picture is below 100 KB.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { HELD, LOOK, PICTURES, type Picture, SIGN_IN } from './screenshots/pictures.ts';
import { Platform } from './screenshots/platform.ts';
import { encodePng } from './screenshots/small-png.ts';

const FOLDER = join(import.meta.dirname, '..', 'docs', 'images');
/** Pages show it. */
const PORT = 18499;
const MOST_BYTES = 100 * 1024;
const FORMS = [
  { width: 1280, height: 720, colorScheme: 'light' },
  { width: 1280, height: 720, colorScheme: 'dark' },
  { width: 390, height: 844, colorScheme: 'light' },
  { width: 390, height: 844, colorScheme: 'dark' },
] as const;

const names = new Set(process.argv.slice(2));
mkdirSync(FOLDER, { recursive: true });
const platform = await Platform.start(PORT);
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  // Text in shades of grey makes small files.
  args: ['--no-sandbox', '--disable-gpu', '--disable-lcd-text'],
});
try {
  const session = await browser.newContext({ ignoreHTTPSErrors: true });
  await takeAll(session, SIGN_IN);
  const page = await session.newPage();
  await page.goto(platform.link);
  await platform.look();
  await takeAll(session, LOOK);
  await platform.change();
  await takeAll(session, PICTURES);
  await platform.hold();
  await takeAll(session, HELD);
} finally {
  await browser.close();
  await platform.stop();
}

/** The pictures for the person of a session. */
async function takeAll(session: BrowserContext, pictures: readonly Picture[]): Promise<void> {
  const storageState = await session.storageState();
  for (const [at, { width, height, colorScheme }] of FORMS.entries()) {
    const context = await browser.newContext({
      ...{ ignoreHTTPSErrors: true, colorScheme, storageState },
      viewport: { width, height },
    });
    for (const picture of pictures) {
      const isWanted = names.size === 0 || names.has(picture.name);
      if (isWanted && (at === 0 || picture.forms === 'all')) {
        const page = await context.newPage();
        await prepare(page, picture, width);
        await shoot(page, `${picture.name}-${width}-${colorScheme}`);
        await page.close();
      }
    }
    await context.close();
  }
}

async function prepare(page: Page, picture: Picture, width: number): Promise<void> {
  const { height } = picture;
  if (height !== undefined && width > 1000) await page.setViewportSize({ width, height });
  await page.goto(`${platform.base}${picture.path}`);
  await page.locator('main h1').waitFor();
  await page.waitForTimeout(1000);
  await picture.prepare?.(page);
  await page.waitForTimeout(500);
}

async function shoot(page: Page, name: string): Promise<void> {
  const path = join(FOLDER, `console-${name}.png`);
  const png = encodePng(await pixelsOf(browser, await page.screenshot()));
  writeFileSync(path, png);
  process.stdout.write(`${name}: ${png.length} bytes\n`);
  if (png.length > MOST_BYTES) throw new Error(`${path} is larger than ${MOST_BYTES} bytes`);
}

/** The browser reads the picture, on a page without a policy. */
async function pixelsOf(
  reader: Browser,
  png: Buffer,
): Promise<{ width: number; height: number; data: Uint8Array }> {
  const page = await reader.newPage();
  const { width, height, base64 } = (await page.evaluate(`(async () => {
    const image = new Image();
    image.src = 'data:image/png;base64,${png.toString('base64')}';
    await image.decode();
    const { width, height } = image;
    const context = new OffscreenCanvas(width, height).getContext('2d');
    context.drawImage(image, 0, 0);
    const blob = new Blob([context.getImageData(0, 0, width, height).data]);
    const url = await new Promise((resolve) => {
      const reader = new FileReader();
      reader.onload = () => resolve(reader.result);
      reader.readAsDataURL(blob);
    });
    return { width, height, base64: url.slice(url.indexOf(',') + 1) };
  })()`)) as { width: number; height: number; base64: string };
  await page.close();
  return { width, height, data: Buffer.from(base64, 'base64') };
}
