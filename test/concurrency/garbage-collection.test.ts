import { setTimeout } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  collectGarbage,
  collectGarbageAtRest,
  SlowHeapGrowth,
} from '../../src/concurrency/index.ts';
import { oldGarbage } from '../support/old-garbage.ts';

async function begin(bytes: number, pauseMs?: number): Promise<void> {
  await collectGarbage();
  onTestFinished(
    collectGarbageAtRest({ bytes, checkMs: 300, ...(pauseMs !== undefined && { pauseMs }) }),
  );
}

/** Each check finds the event loop busy. */
function spin(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

test('garbage is collected when the event loop rests', async () => {
  await begin(1_000_000);
  const ref = await oldGarbage();
  const buffers = Array.from({ length: 100 }, () => Buffer.alloc(100_000));
  // Not the object itself: `poll` holds what it was given last.
  const isGone = (): boolean => ref.deref() === undefined;
  await expect.poll(isGone, { timeout: 20_000, interval: 200 }).toBe(true);
  expect(buffers).toHaveLength(100);
});

describe('free room of the heap', () => {
  /** A heap that has grown and is nearly empty, which V8 keeps. */
  async function grow(shrinks: boolean): Promise<number> {
    await collectGarbage();
    onTestFinished(
      collectGarbageAtRest({ bytes: 4_000_000_000, checkMs: 100, pauseMs: 0, shrinks }),
    );
    let kept: object[] = Array.from({ length: 1_000_000 }, (_, n) => ({ n, text: [`${n}`] }));
    await setTimeout(1);
    const grown = process.memoryUsage().heapTotal;
    kept = kept.slice(0, 10);
    expect(kept).toHaveLength(10);
    return grown;
  }

  test('V8 collects and compacts a heap of any size at rest', async () => {
    const grown = await grow(true);
    const isSmall = (): boolean => process.memoryUsage().heapTotal < grown - 40_000_000;
    await expect.poll(isSmall, { timeout: 40_000, interval: 200 }).toBe(true);
  });

  test('V8 keeps the room where shrinking is off', async () => {
    await grow(false);
    await setTimeout(3000);
    const { heapTotal, heapUsed } = process.memoryUsage();
    expect(heapTotal - heapUsed).toBeGreaterThan(8_000_000);
  });
});

describe('a computation that leaves much garbage', () => {
  /** Most of the heap above what is alive. */
  async function garbageOf(items: number): Promise<number> {
    await collectGarbage();
    const growth = new SlowHeapGrowth();
    onTestFinished(() => growth[Symbol.dispose]());
    growth.add(items);
    const alive = Array.from({ length: 500_000 }, (_, n) => ({ n, text: [`${n}`] }));
    const before = process.memoryUsage().heapUsed;
    let most = 0;
    for (let round = 0; round < 100; round += 1) {
      const old = Array.from({ length: 20_000 }, (_, n) => ({ n, text: [`${n}`] }));
      await setTimeout(1);
      expect(old).toHaveLength(20_000);
      most = Math.max(most, process.memoryUsage().heapUsed - before);
    }
    expect(alive).toHaveLength(500_000);
    return most;
  }

  test('lets the heap grow less after many items', async () => {
    const few = await garbageOf(1000);
    const many = await garbageOf(1_000_000);
    expect(many).toBeLessThan(few * 0.8);
  });
});

test('slow growth of the heap begins with a collection', async () => {
  const ref = await oldGarbage();
  using growth = new SlowHeapGrowth(10);
  growth.add(9);
  await setTimeout(1);
  expect(ref.deref()).toBeDefined();
  // A look keeps the object for the rest of its turn.
  await setTimeout(1);
  growth.add(1);
  await setTimeout(1);
  expect(ref.deref()).toBeUndefined();
});

test('nothing is collected while the event loop is busy', async () => {
  await begin(1_000_000);
  const ref = await oldGarbage();
  for (let i = 0; i < 40; i++) {
    spin(20);
    await setTimeout(20);
  }
  expect(ref.deref()).toBeDefined();
});

test('little garbage is left to V8', async () => {
  await begin(4_000_000_000);
  const ref = await oldGarbage();
  await setTimeout(2000);
  expect(ref.deref()).toBeDefined();
});

test('garbage of a heap that takes too long is left to V8', async () => {
  await begin(1_000_000, 0.5);
  const ref = await oldGarbage();
  await setTimeout(2000);
  expect(ref.deref()).toBeDefined();
});
