/**
 * Setup of every test file: a state that is waited for has half a minute to come about, whatever the
 * test says, so that a busy machine fails no test. What never comes still fails.
 */
import { vi } from 'vitest';

const PATIENCE_MS = 30_000;

// Files that share a process share `vi`.
if (!('isPatient' in vi.waitFor)) {
  const waitFor = vi.waitFor.bind(vi);
  const patient: typeof vi.waitFor = (callback, options = {}) => {
    const given = typeof options === 'number' ? { timeout: options } : options;
    return waitFor(callback, { ...given, timeout: Math.max(given.timeout ?? 0, PATIENCE_MS) });
  };
  vi.waitFor = Object.assign(patient, { isPatient: true });
}
