/**
 * Setup of every test file: a state that is waited for has half a minute to come about, whatever the
 * test says, so that a busy machine fails no test. What never comes still fails.
 */
import { vi } from 'vitest';

const PATIENCE_MS = 30_000;

const waitFor = vi.waitFor.bind(vi);
vi.waitFor = (callback, options = {}) => {
  const given = typeof options === 'number' ? { timeout: options } : options;
  return waitFor(callback, { ...given, timeout: Math.max(given.timeout ?? 0, PATIENCE_MS) });
};
