import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  flatMapYielding,
  runAtOnce,
  runYielding,
  sortInSteps,
  Yielding,
} from '../../src/apimachinery/yield.ts';

function busy(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

test('long work is put together in order, and others get their turn while it runs', async () => {
  let others = 0;
  const work = setInterval(() => {
    others += 1;
  });

  const doubled = await flatMapYielding(
    Array.from({ length: 60 }, (_, i) => i),
    (i) => {
      busy(1);
      return [i, -i];
    },
  );
  clearInterval(work);

  expect(doubled).toEqual(Array.from({ length: 60 }, (_, i) => [i, -i]).flat());
  expect(others).toBeGreaterThan(3);
});

test('steps give the same result at once and with yields', async () => {
  function* sum(): Generator<void, number> {
    let total = 0;
    for (let i = 1; i <= 20; i++) {
      total += i;
      yield;
    }
    busy(5);
    return total;
  }
  expect(runAtOnce(sum())).toBe(210);
  expect(await runYielding(sum())).toBe(210);
});

test('a failure in the middle rejects', async () => {
  const failing = flatMapYielding([1, 2, 3], (i) => {
    if (i === 2) throw new Error('two');
    return [i];
  });
  await expect(failing).rejects.toThrow('two');
});

test('work gets on beside other work that takes up every turn first', async () => {
  let turns = 0;
  let isOver = false;
  const greedy = async (): Promise<void> => {
    const pauses = new Yielding();
    while (!isOver) {
      while (!pauses.due) busy(0.1);
      turns += 1;
      await pauses.pause();
    }
  };
  const others = [greedy(), greedy()];
  const items = Array.from({ length: 1000 }, (_, i) => i);
  expect(await flatMapYielding(items, (i) => [i])).toEqual(items);
  isOver = true;
  await Promise.all(others);
  // One item a turn would take a thousand.
  expect(turns).toBeLessThan(500);
});

test('work gets a quarter of turns that others fill', async () => {
  let turns = 0;
  let isOver = false;
  const fill = (): void => {
    turns += 1;
    busy(12);
    if (!isOver) setImmediate(fill);
  };
  fill();
  await flatMapYielding(
    Array.from({ length: 240 }, (_, i) => i),
    () => {
      busy(0.25);
      return [];
    },
  );
  isOver = true;
  // 60 ms of work: a millisecond a turn would take 60 turns.
  expect(turns).toBeLessThan(35);
});

test('a sort in steps keeps the order of equal items', () => {
  const item = fc.record({ order: fc.nat(20), id: fc.nat() });
  fc.assert(
    fc.property(fc.array(item, { maxLength: 2000, size: 'max' }), (items) => {
      const byOrder = (a: { order: number }, b: { order: number }) => a.order - b.order;

      expect(runAtOnce(sortInSteps(items, byOrder))).toEqual(items.toSorted(byOrder));
    }),
    { numRuns: 50 },
  );
});

test('a step of a sort compares few items', () => {
  const items = Array.from({ length: 20_000 }, (_, i) => (i * 7919) % 20_000);
  let compared = 0;
  let most = 0;
  const steps = sortInSteps(items, (a, b) => {
    compared += 1;
    return a - b;
  });
  for (let done = false; !done; most = Math.max(most, compared)) {
    compared = 0;
    done = steps.next().done === true;
  }

  expect(most).toBeLessThan(5000);
});
