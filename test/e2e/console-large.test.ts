/**
 * A long list in the console, in a browser: scrolling while objects change. By default 10,000 objects for
 * some seconds. `GITPLANE_SOAK_SECONDS=600 GITPLANE_SOAK_OBJECTS=100000` is the long run; it prints frames,
 * long tasks and the heap.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HAS_BROWSER, openConsole, useBrowser } from '../support/browser.ts';
import { API, type Daemon, scratchDir, startDaemon } from '../support/daemon.ts';

const OBJECTS = Number(process.env['GITPLANE_SOAK_OBJECTS'] ?? 10_000);
const SECONDS = Number(process.env['GITPLANE_SOAK_SECONDS'] ?? 5);
const MOST_HEAP_BYTES = 300e6;
const PER_FILE = 500;
/** Rows of 40 pixels that one frame scrolls over. */
const ROWS_PER_FRAME = 75;
const CHANGES_PER_SECOND = 5;

const nameOf = (index: number): string => `team-${String(index).padStart(6, '0')}`;

function seed(): string {
  const folder = scratchDir();
  mkdirSync(join(folder, 'teams'));
  for (let from = 0; from < OBJECTS; from += PER_FILE) {
    const length = Math.min(PER_FILE, OBJECTS - from);
    const documents = Array.from({ length }, (_, index) => {
      const name = nameOf(from + index);
      return `apiVersion: management.gitplane.dev/v1\nkind: Team\nmetadata:\n  name: ${name}\n  labels: {tier: t${index % 7}}\nspec:\n  displayName: ${name}\n  users: [ada, bea]\n`;
    });
    writeFileSync(join(folder, 'teams', `${from}.yaml`), documents.join('---\n'));
  }
  return folder;
}

interface Observed {
  readonly frames: number;
  readonly milliseconds: number;
  readonly longTasks: number[];
}

/** Runs in the page: scrolls up and down for some seconds, and counts. */
const SCROLL = `async ({ seconds, step }) => {
  const table = document.querySelector('.vtable');
  const longTasks = [];
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) longTasks.push(Math.round(duration));
  });
  observer.observe({ entryTypes: ['longtask'] });
  const began = performance.now();
  let frames = 0;
  let direction = step;
  let top = 0;
  const most = table.scrollHeight - table.clientHeight;
  while (performance.now() - began < seconds * 1000) {
    await new Promise(requestAnimationFrame);
    frames += 1;
    top = Math.min(Math.max(top + direction, 0), most);
    if (top === 0 || top === most) direction = -direction;
    table.scrollTop = top;
  }
  const milliseconds = performance.now() - began;
  observer.disconnect();
  return { frames, milliseconds, longTasks };
}`;

async function heapOf(page: Page): Promise<number> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('HeapProfiler.collectGarbage');
  const { usedSize } = await devtools.send('Runtime.getHeapUsage');
  return usedSize;
}

describe.skipIf(!HAS_BROWSER)('a long list in the console', () => {
  const browser = useBrowser();
  let daemon: Daemon;

  beforeAll(async () => {
    daemon = await startDaemon({ seed: seed() });
  }, 600_000);
  afterAll(async () => {
    await daemon?.stop();
  });

  async function change(index: number): Promise<void> {
    const url = `${API}/teams/${nameOf(index % OBJECTS)}`;
    const body = { spec: { displayName: `changed ${index}` } };
    const { code, text } = await daemon.call('PATCH', url, {
      body,
      type: 'application/merge-patch+json',
    });
    expect(code, text).toBe(200);
  }

  test('has every row, and keeps few of them in the document', async () => {
    const { page, complaints } = await openConsole(browser, daemon, '/console/objects/teams');
    const table = page.getByRole('table', { name: 'Teams' });
    await page.getByText(`${OBJECTS.toLocaleString('en')} objects`).waitFor();
    await expect.poll(() => table.getAttribute('aria-rowcount')).toBe(String(OBJECTS + 1));
    await table.focus();
    await page.keyboard.press('End');
    await page.getByRole('link', { name: nameOf(OBJECTS - 1) }).waitFor();
    expect(await page.locator('.vbody .vrow').count()).toBeLessThan(100);
    expect(await page.locator('.vbody .vrow').last().getAttribute('aria-rowindex')).toBe(
      String(OBJECTS + 1),
    );
    await change(OBJECTS - 1);
    await page.getByText(`changed ${OBJECTS - 1}`).waitFor();
    await page.keyboard.press('Home');
    await page.getByRole('link', { name: nameOf(0) }).waitFor();
    await page.getByRole('button', { name: 'Display Name' }).click();
    await page.getByRole('link', { name: nameOf(OBJECTS - 1) }).waitFor();
    await page.getByPlaceholder('Filter').fill(nameOf(4242));
    await page.getByText(`1 of ${OBJECTS.toLocaleString('en')} objects`).waitFor();
    expect(complaints).toEqual([]);
  });

  test(
    'needs little memory after scrolling and changes',
    async () => {
      const { page } = await openConsole(browser, daemon, '/console/objects/teams');
      await page.getByText(`${OBJECTS.toLocaleString('en')} objects`).waitFor();
      const step = ROWS_PER_FRAME * 40;
      const scrolled = page.evaluate<Observed>(
        `(${SCROLL})(${JSON.stringify({ seconds: SECONDS, step })})`,
      );
      for (let index = 0; index < SECONDS * CHANGES_PER_SECOND; index++) {
        await change(index);
        await new Promise((resolve) => setTimeout(resolve, 1000 / CHANGES_PER_SECOND));
      }
      const { frames, milliseconds, longTasks } = await scrolled;
      const heap = await heapOf(page);
      const fps = (1000 * frames) / milliseconds;
      process.stderr.write(
        `${OBJECTS} objects, ${SECONDS} s: ${fps.toFixed(1)} frames a second, ${longTasks.length} long tasks, longest ${Math.max(0, ...longTasks)} ms, heap ${(heap / 1e6).toFixed(1)} MB\n`,
      );
      expect(heap).toBeLessThan(MOST_HEAP_BYTES);
    },
    60_000 + SECONDS * 2000,
  );
});
