import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { collectGarbageAfter } from '../../../src/daemon/runtime/garbage-collection.ts';
import { oldGarbage } from '../../support/old-garbage.ts';

function garbage(): WeakRef<object> {
  return new WeakRef({ nobody: 'needs this' });
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
