/** Versions that a store goes on with, and questions to a store that is filled, busy or closed. */
import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { MemoryEngine } from '../../src/state/engines/memory-engine.ts';
import { openStore } from '../../src/state/open-store.ts';
import { StateError } from '../../src/state/state-error.ts';
import type { Store } from '../../src/state/store.ts';
import { keyOf, put, SetClock } from './builders.ts';
import { fail, testCodec } from './harnesses.ts';

const clock = new SetClock();

const openOn = (disk: Map<string, Buffer>, followed: boolean): Promise<Store> =>
  openStore({ codec: testCodec, onError: fail, clock, followed, engine: new MemoryEngine(disk) });

test.each([
  [true, true, 0],
  [true, false, 2 ** 20],
  [false, true, 2 ** 20],
  [false, false, 2 ** 20],
])(
  'a killed store (followed: %s, then %s) goes on %i above the last version',
  async (before, after, above) => {
    const disk = new Map<string, Buffer>();
    const store = await openOn(disk, before);
    store.apply([put('a')]);
    store.apply([put('b')]);
    await store.flush();

    const next = await openOn(new Map(disk), after);

    expect(next.resourceVersion - store.resourceVersion).toBe(above);
    await store.close();
    await next.close();
  },
);

test('a store with whole contents is filled at once', async () => {
  const store = await openOn(new Map(), false);
  await expect(store.filled()).resolves.toBeUndefined();
  await store.close();
});

test('a closed store takes no large step', async () => {
  const store = await openOn(new Map(), false);
  const { resourceVersion } = store;
  await store.close();
  await expect(store.applyYielding([put('a')], {}, [])).rejects.toBeInstanceOf(StateError);
  expect(store.resourceVersion).toBe(resourceVersion);
});

test('a flush persists a large step that is still being written', async () => {
  const disk = new Map<string, Buffer>();
  const store = await openOn(disk, false);
  const names = Array.from({ length: 50 }, (_, i) => `team-${i}`);
  const puts = (turn: number) => names.map((name) => put(name, { turn }));
  store.apply(puts(1));
  // Every step of a computation takes so long that the next one waits for the event loop.
  let now = performance.now();
  const clockOfProcess = vi.spyOn(performance, 'now').mockImplementation(() => (now += 10));
  onTestFinished(() => clockOfProcess.mockRestore());
  let isWritten = false;
  const written = store.applyYielding(puts(2), {}, []).then(() => {
    isWritten = true;
  });
  while (store.get(keyOf('team-49'))?.object.spec?.['turn'] !== 2) await setImmediate();
  expect(isWritten).toBe(false);

  await store.flush();

  const next = await openOn(new Map(disk), false);
  expect(names.map((name) => next.get(keyOf(name))?.object.spec)).toEqual(
    names.map(() => ({ turn: 2 })),
  );
  await written;
  await store.close();
  await next.close();
});
