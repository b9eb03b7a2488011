/** Terminating objects go when their grace period is over, not sooner, and whatever failed before. */
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { startDeletion } from '../../src/controllers/deletion.ts';
import { kindOf, kinds } from '../support/platform.ts';

const START = 1_700_000_000_000;
const { group, kind: team } = kindOf('teams');
const key = { group, kind: team, namespace: '', name: 'a' };

beforeEach(() => {
  vi.useFakeTimers({ now: START });
});
afterEach(() => {
  vi.useRealTimers();
});

type Options = Parameters<typeof startDeletion>[0];
type Stored = NonNullable<ReturnType<Options['store']['get']>>;

function platform(graceMs: number, finalizers: readonly string[] = []) {
  const metadata = {
    name: 'a',
    deletionTimestamp: new Date(START + graceMs).toISOString(),
    finalizers,
  };
  const current = { key, terminating: true, object: { apiVersion: 'v1', metadata } };
  let stored: unknown = current;
  const refusals: Error[] = [];
  const errors: unknown[] = [];
  const removals: number[] = [];
  const stop = startDeletion({
    kinds,
    clock: { now: () => Date.now() },
    onError: (error) => errors.push(error),
    store: {
      list: ({ kind }: { kind: string }) => ({ items: kind === team ? [current] : [] }),
      get: () => stored as Stored | undefined,
      observe: () => () => undefined,
    } as unknown as Options['store'],
    branch: {
      submit: async ({ prepare }: { prepare(): unknown }) => {
        const refusal = refusals.shift();
        if (refusal !== undefined) throw refusal;
        if ((prepare() as { do: string }).do !== 'state') return;
        removals.push(Date.now() - START);
        stored = undefined;
      },
    } as unknown as Options['branch'],
  });
  onTestFinished(stop);
  return { stop, errors, removals, refuse: (error: Error) => refusals.push(error) };
}

test('an object goes when its grace period is over, and no sooner', async () => {
  const { removals } = platform(30_000);
  await vi.advanceTimersByTimeAsync(29_000);
  expect(removals).toEqual([]);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(removals).toEqual([30_000]);
});

test('a grace period that is longer than timers hold is waited for', async () => {
  const graceMs = 2 ** 31 + 60_000;
  const { removals } = platform(graceMs);
  await vi.advanceTimersByTimeAsync(graceMs - 1000);
  expect(removals).toEqual([]);
  await vi.advanceTimersByTimeAsync(2000);
  expect(removals).toEqual([graceMs]);
});

test('a finalizer keeps the object', async () => {
  const { removals } = platform(0, ['example.com/keep']);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(removals).toEqual([]);
});

test('a removal that failed is reported and tried again', async () => {
  const { removals, errors, refuse } = platform(0);
  refuse(new Error('the disk is full'));
  await vi.advanceTimersByTimeAsync(10_000);
  expect(errors).toEqual([new Error('the disk is full')]);
  expect(removals).toHaveLength(1);
});

test('nothing is removed after the stop', async () => {
  const { stop, removals } = platform(30_000);
  stop();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(removals).toEqual([]);
});
