/** Renewals of a token that the store refuses. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { RenewalTimer } from '../../src/secret-store-client/token.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('a failing renewal of a short-lived token is retried after growing pauses, until one succeeds', async () => {
  const tries: number[] = [];
  const failures: unknown[] = [];
  let isUp = false;
  const renew = async (): Promise<number> => {
    tries.push(Date.now());
    if (!isUp) throw new Error('down');
    return 3;
  };
  const onFailure = (error: unknown): void => void failures.push(error);
  const timer = new RenewalTimer({ renew, onFailure, random: () => 1 });
  const pauses = (): number[] => tries.slice(1).map((at, i) => (at - (tries[i] ?? 0)) / 1000);
  timer.plan(3);
  await vi.advanceTimersByTimeAsync(30 * 60_000);
  expect(pauses()).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300, 300]);
  expect(failures).toHaveLength(14);

  isUp = true;
  await vi.advanceTimersByTimeAsync(5 * 60_000);
  isUp = false;
  tries.length = 0;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(pauses().slice(0, 3)).toEqual([1, 2, 4]);
  timer.close();
});

test('a token of a minute is renewed within its lifetime after an outage of most of what was left', async () => {
  const began = Date.now();
  const renewed: number[] = [];
  const renew = async (): Promise<number> => {
    const at = Date.now() - began;
    if (at < 56_000) throw new Error('down');
    renewed.push(at);
    return 60;
  };
  const timer = new RenewalTimer({ renew, onFailure: () => undefined, random: () => 1 });
  timer.plan(60);
  await vi.advanceTimersByTimeAsync(75_000);
  expect(renewed).toHaveLength(1);
  expect(renewed[0]).toBeLessThan(60_000);
  timer.close();
});
