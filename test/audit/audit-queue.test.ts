import { describe, expect, test } from 'vitest';
import { AuditQueue, type AuditTarget } from '../../src/audit/audit-queue.ts';
import type { EventBlock } from '../../src/audit/event-buffer.ts';
import { EventBuffer } from '../../src/audit/event-buffer.ts';

const block = (n: number, events = 1): EventBlock => ({
  bytes: Buffer.from(`{"n":${String(n).padStart(30, '0')}}\n`),
  events,
});

/** A queue whose log breaks and works as told. */
function queueOf(options: { mostBytes?: number } = {}) {
  const seen = {
    taken: [] as string[],
    tries: 0,
    dropped: 0,
    written: 0,
    troubles: [] as boolean[],
    failures: 0,
    broken: undefined as Error | undefined,
  };
  const queue = new AuditQueue({
    dropped: (events) => {
      seen.dropped += events;
    },
    written: (events) => {
      seen.written += events;
    },
    trouble: (error) => seen.troubles.push(error !== undefined),
    failed: () => seen.failures++,
    retryMs: 5,
    closeWithinMs: 500,
    ...options,
  });
  const target: AuditTarget = {
    open: async () => undefined,
    close: async () => undefined,
    append: async (lines) => {
      seen.tries++;
      if (seen.broken !== undefined) throw seen.broken;
      seen.taken.push(lines.join(''));
      return undefined;
    },
  };
  return { queue, seen, target };
}

const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });

test('lines for a broken log wait, then are dropped and counted, until it works again', async () => {
  const { queue, seen, target } = queueOf({ mostBytes: 100 });
  seen.broken = full;
  queue.switchTo(target);
  for (let n = 0; n < 5; n++) queue.add(block(n, 3));
  expect(seen.dropped).toBe(9);
  await expect.poll(() => seen.tries).toBeGreaterThan(2);
  expect(seen.troubles).toEqual([true]);
  expect(seen.failures).toBeGreaterThan(1);
  seen.broken = undefined;
  await expect.poll(() => seen.written).toBe(6);
  expect(seen.taken.join('')).toBe(`${block(0).bytes}${block(1).bytes}`);
  expect(seen.troubles).toEqual([true, false]);
  seen.broken = full;
  queue.add(block(9));
  await queue.close();
  expect(seen.dropped).toBe(10);
});

test('a log that hangs does not block the shutdown, and its lines are counted as lost', async () => {
  const { queue, seen } = queueOf();
  queue.switchTo({
    open: async () => undefined,
    close: async () => undefined,
    append: () => new Promise(() => undefined),
  });
  queue.add(block(1, 7));
  await queue.close();
  expect([seen.dropped, seen.written]).toEqual([7, 0]);
});

test('queued lines go to the new log, and lines that it refuses are counted', async () => {
  const { queue, seen, target } = queueOf();
  queue.add(block(1, 2));
  expect(queue.waiting).toBe(block(1).bytes.length);
  queue.switchTo({
    ...target,
    append: async (lines) => {
      seen.taken.push(lines.join(''));
      return 1;
    },
  });
  await expect.poll(() => [seen.written, seen.dropped]).toEqual([1, 1]);
  expect(queue.waiting).toBe(0);
});

test('discarded lines end the wait for them', async () => {
  const { queue, seen, target } = queueOf();
  seen.broken = full;
  queue.switchTo(target);
  queue.add(block(1));
  await expect.poll(() => seen.troubles).toEqual([true]);
  queue.switchTo(undefined);
  queue.discard();
  expect([seen.dropped, queue.waiting, seen.troubles]).toEqual([1, 0, [true, false]]);
});

describe('a buffer of events', () => {
  test('hands on whole lines in order, whatever their sizes and letters', () => {
    const blocks: EventBlock[] = [];
    const buffer = new EventBuffer((one) => {
      one.hold?.();
      blocks.push(one);
    });
    const expected: string[] = [];
    for (let n = 0; n < 400; n++) {
      const text = `{"n":${n},"a":"${'ä€😀'.repeat((n * 37) % 900)}"`;
      const bytes =
        n % 3 === 0 ? Buffer.from(`{"o":"${'x'.repeat((n * 101) % 5000)}"}`) : undefined;
      buffer.add(bytes === undefined ? text : `${text},"b":`, bytes);
      expected.push(bytes === undefined ? `${text}}\n` : `${text},"b":${bytes}}\n`);
      if (n % 50 === 0) buffer.flush();
    }
    buffer.add(`{"big":"${'ß'.repeat(300_000)}"`);
    expected.push(`{"big":"${'ß'.repeat(300_000)}"}\n`);
    buffer.flush();
    const all = Buffer.concat(blocks.map(({ bytes }) => bytes)).toString();
    expect(all === expected.join('')).toBe(true);
    expect(blocks.reduce((sum, { events }) => sum + events, 0)).toBe(expected.length);
    for (const { bytes } of blocks) expect(bytes.at(-1)).toBe(0x0a);
  });
});
