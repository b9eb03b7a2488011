import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Counter, type ProgressState } from '../../src/concurrency/progress.ts';
import { SlowSteps } from '../../src/telemetry/slow-steps.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('a step that goes on for long is reported repeatedly, and no other', () => {
  const told: unknown[] = [];
  const logger = { warn: (...of: unknown[]) => void told.push(of) };
  const steps = new SlowSteps(logger, 'Taking over', { afterMs: 5_000 });
  steps.begin('the log');
  vi.advanceTimersByTime(4_999);
  steps.begin('the state');
  vi.advanceTimersByTime(10_000);
  expect(told).toEqual([
    [{ step: 'the state', seconds: 5 }, 'Taking over takes long'],
    [{ step: 'the state', seconds: 10 }, 'Taking over takes long'],
  ]);
  steps.end();
  vi.advanceTimersByTime(60_000);
  expect(told).toHaveLength(2);
});

test('counted steps are logged with count and rate', () => {
  const told: unknown[] = [];
  const steps = new SlowSteps({ warn: (...of: unknown[]) => void told.push(of) }, 'The start');
  const counter = new Counter();
  counter.expect(9_000);
  counter.advance(1_000);
  steps.begin('reading the branch', { unit: 'files', counter });
  vi.advanceTimersByTime(5_000);
  steps.end();
  const counts = { unit: 'files', done: 1_000, total: 9_000, perSecond: 200 };
  expect(told).toEqual([
    [{ step: 'reading the branch', seconds: 5, ...counts }, 'The start takes long'],
  ]);
});

test('a stall is a time without a further step and without a further count', () => {
  const stalls: unknown[] = [];
  const onStall = ({ step, seconds }: ProgressState): void => void stalls.push([step, seconds]);
  const steps = new SlowSteps({ warn: () => undefined }, 'Taking over', {
    stallMs: 60_000,
    onStall,
  });
  const counter = new Counter();
  steps.begin('the log');
  vi.advanceTimersByTime(55_000);
  steps.begin('the branch', { unit: 'files', counter });
  for (let minute = 0; minute < 10; minute++) {
    counter.advance();
    vi.advanceTimersByTime(55_000);
  }
  expect(stalls).toEqual([]);
  vi.advanceTimersByTime(10_000);
  expect(stalls).toEqual([['the branch', 560]]);
  steps.end();
});
