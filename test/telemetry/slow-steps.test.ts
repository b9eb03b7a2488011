import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { SlowSteps } from '../../src/telemetry/slow-steps.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('a step that goes on for long is told again and again, and no other', () => {
  const told: unknown[] = [];
  const logger = { warn: (...of: unknown[]) => void told.push(of) };
  const steps = new SlowSteps(logger, 'Taking over', 5_000);
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
