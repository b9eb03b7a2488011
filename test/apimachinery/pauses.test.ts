import { expect, test } from 'vitest';
import { flatMapInSlices, runAtOnce, runInSlices } from '../../src/apimachinery/pauses.ts';

function busy(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

test('long work is put together in order, and others get their turn while it runs', async () => {
  let others = 0;
  const work = setInterval(() => {
    others += 1;
  });

  const doubled = await flatMapInSlices(
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

test('steps come to the same at once and in slices', async () => {
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
  expect(await runInSlices(sum())).toBe(210);
});

test('what fails half-way rejects', async () => {
  const failing = flatMapInSlices([1, 2, 3], (i) => {
    if (i === 2) throw new Error('two');
    return [i];
  });
  await expect(failing).rejects.toThrow('two');
});
