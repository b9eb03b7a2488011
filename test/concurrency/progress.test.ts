import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  Counter,
  describeProgress,
  Progress,
  showProgress,
} from '../../src/concurrency/progress.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test.each([
  [{ done: 0, total: undefined, ms: 3_000 }, 'reading, for 3 s'],
  [{ done: 0, total: 1000, ms: 3_000 }, 'reading: 0 of 1,000 files'],
  [{ done: 1500, total: 6000, ms: 3_000 }, 'reading: 1,500 of 6,000 files, 500/s, 9 s left'],
  [{ done: 1500, total: undefined, ms: 3_000 }, 'reading: 1,500 files, 500/s'],
  [{ done: 10, total: 5, ms: 1_000 }, 'reading: 10 of 10 files, 10/s'],
  [{ done: 10, total: 50, ms: 100 }, 'reading: 10 of 50 files'],
])('the text of %j', ({ done, total, ms }, text) => {
  const counter = new Counter();
  const progress = new Progress();
  progress.begin('reading', { unit: 'files', counter });
  if (total !== undefined) counter.expect(total);
  if (done > 0) counter.advance(done);
  vi.advanceTimersByTime(ms);
  expect(describeProgress(progress.state as never)).toBe(text);
});

test('a smaller expectation does not lower the total, and the end of a step leaves no state', () => {
  const counter = new Counter();
  counter.expect(10);
  counter.expect(3);
  expect(counter.total).toBe(10);
  const progress = new Progress();
  progress.begin('reading');
  progress.end();
  expect(progress.state).toBe(undefined);
});

test.each([
  [true, '\r\u001B[Kreading, for 1 s', '\r\u001B[K'],
  [false, 'reading, for 5 s\n', undefined],
])(
  'the progress of a command (terminal: %s), cleared at the end, also after an error',
  async (isTTY, line, last) => {
    const shown: string[] = [];
    const progress = new Progress();
    progress.begin('reading');
    const stream = { isTTY, write: (text: string) => shown.push(text) };
    const work = showProgress(progress, stream, async () => {
      await vi.advanceTimersByTimeAsync(5_400);
      throw new Error('broken');
    });
    await expect(work).rejects.toThrow('broken');
    expect(shown).toContain(line);
    if (last !== undefined) expect(shown.at(-1)).toBe(last);
    const before = shown.length;
    vi.advanceTimersByTime(60_000);
    expect(shown).toHaveLength(before);
  },
);
