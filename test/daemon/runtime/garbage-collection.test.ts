import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { collectGarbageAfter } from '../../../src/daemon/runtime/garbage-collection.ts';

function garbage(): WeakRef<object> {
  return new WeakRef({ nobody: 'needs this' });
}

/** Young objects go by themselves soon; one that has grown old only goes when all is collected. */
async function oldGarbage(): Promise<WeakRef<object>> {
  let kept: object | undefined = { nobody: 'needs this' };
  const ref = new WeakRef(kept);
  for (let i = 0; i < 3; i++) {
    Array.from({ length: 400_000 }, (_, n) => ({ n }));
    await setTimeout(1);
  }
  kept = undefined;
  return ref;
}

test('garbage of the start is collected when the start has settled', async () => {
  const refs = [garbage(), await oldGarbage()];
  const callOff = collectGarbageAfter(Promise.resolve());
  for (let i = 0; i < 1000 && refs.some((ref) => ref.deref() !== undefined); i++) {
    await setTimeout(20);
  }
  expect(refs.map((ref) => ref.deref())).toEqual([undefined, undefined]);
  callOff();
});
