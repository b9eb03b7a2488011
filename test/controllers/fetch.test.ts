/** Schedule of fetches of a followed branch. */
import pino from 'pino';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { startFetching } from '../../src/controllers/fetch.ts';

const logger = pino({ level: 'silent' });

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A loop whose fetches the test ends one by one. */
function loop(random = () => 0.5) {
  const open: { ok(): void; fail(): void }[] = [];
  let begun = 0;
  let caughtUp = 0;
  const source = {
    refresh: () => {
      begun += 1;
      return new Promise<void>((ok, fail) => open.push({ ok, fail: () => fail(new Error('no')) }));
    },
    close: async () => undefined,
  };
  const follower = { catchUp: async () => void caughtUp++ };
  const fetching = startFetching({ source, follower, intervalMs: 60_000, logger, random });
  onTestFinished(() => {
    for (const { ok } of open) ok();
  });
  const end = async (how: 'ok' | 'fail' = 'ok'): Promise<void> => {
    open.shift()?.[how]();
    await vi.advanceTimersByTimeAsync(0);
  };
  return { fetching, end, begun: () => begun, caughtUp: () => caughtUp };
}

test('the controller fetches once per interval, with jitter', async () => {
  const early = loop(() => 0);
  await vi.advanceTimersByTimeAsync(47_999);
  expect(early.begun()).toBe(0);
  await vi.advanceTimersByTimeAsync(1);
  expect(early.begun()).toBe(1);
  const late = loop(() => 1);
  await vi.advanceTimersByTimeAsync(71_999);
  expect(late.begun()).toBe(0);
  await vi.advanceTimersByTimeAsync(1);
  expect(late.begun()).toBe(1);
  await late.end();
  expect(late.caughtUp()).toBe(1);
});

test('the controller retries with backoff after a failure, and returns to its interval', async () => {
  const { fetching, end, begun } = loop();
  fetching.trigger();
  for (const [i, wait] of [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000].entries()) {
    expect(begun()).toBe(i + 1);
    await end('fail');
    await vi.advanceTimersByTimeAsync(wait - 1);
    expect(begun()).toBe(i + 1);
    await vi.advanceTimersByTimeAsync(1);
  }
  await end('ok');
  await vi.advanceTimersByTimeAsync(59_999);
  expect(begun()).toBe(9);
});

test('requests during a fetch share the next one', async () => {
  const { fetching, end, begun, caughtUp } = loop();
  const first = fetching.refresh();
  const others = [fetching.refresh(), fetching.refresh(), fetching.refresh()];
  expect(begun()).toBe(1);
  await end();
  await first;
  expect(begun()).toBe(2);
  await end();
  await Promise.all(others);
  expect(begun()).toBe(2);
  expect(caughtUp()).toBe(2);
});

test('a request is rejected with the reason of the failure', async () => {
  const { fetching, end } = loop();
  const asked = expect(fetching.refresh()).rejects.toThrow('no');
  await end('fail');
  await asked;
});

test('a thousand notices make a fetch now and then', async () => {
  const { fetching, end, begun } = loop();
  for (let i = 0; i < 1000; i++) {
    fetching.trigger();
    await end();
    await vi.advanceTimersByTimeAsync(1);
  }
  expect(begun()).toBeLessThanOrEqual(5);
  expect(begun()).toBeGreaterThan(2);
  // The last notice is not lost.
  await end();
  const before = begun();
  fetching.trigger();
  await vi.advanceTimersByTimeAsync(250);
  expect(begun()).toBe(before + 1);
});

test('nothing is fetched after the end', async () => {
  const { fetching, begun } = loop();
  await fetching.close();
  fetching.trigger();
  await vi.advanceTimersByTimeAsync(200_000);
  await expect(fetching.refresh()).rejects.toThrow('ended');
  expect(begun()).toBe(0);
});
