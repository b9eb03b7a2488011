import { expect, test } from 'vitest';
import { deferred } from '../../../src/concurrency/deferred.ts';
import { UnresolvedIdempotencyKeys } from '../../../src/registry/writes/unresolved-idempotency-keys.ts';

test('a key is unsure until history was read after it came', async () => {
  const reads = [deferred<void>(), deferred<void>()];
  let count = 0;
  const keys = new UnresolvedIdempotencyKeys(async () => await reads[count++]?.promise);
  keys.add('ann', 'a');
  const first = keys.settle();
  keys.add('ann', 'b');
  const second = keys.settle();
  expect([keys.has('ann', 'a'), keys.has('ann', 'b'), keys.has('bob', 'a')]).toEqual([
    true,
    true,
    false,
  ]);
  reads[0]?.resolve();
  await first;
  expect([keys.has('ann', 'a'), keys.has('ann', 'b')]).toEqual([false, true]);
  reads[1]?.resolve();
  await second;
  expect([keys.has('ann', 'b'), count]).toEqual([false, 2]);
});

test('a read that fails settles nothing, and too many are all there are', async () => {
  let isBroken = true;
  const keys = new UnresolvedIdempotencyKeys(async () => {
    if (isBroken) throw new Error('no disk');
  });
  for (let i = 0; i < 2_000; i++) keys.add('ann', `k${i}`);
  await expect(keys.settle()).rejects.toThrow('no disk');
  expect([keys.has('ann', 'k1'), keys.has('bob', 'another')]).toEqual([true, true]);
  isBroken = false;
  await keys.settle();
  expect([keys.has('ann', 'k1'), keys.has('bob', 'another')]).toEqual([false, false]);
});
