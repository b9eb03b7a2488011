/** The query parameter `timeout`. */
import { badRequest, parseGoDuration } from '../../apimachinery/index.ts';

const DEFAULT_WAIT_MS = 30_000;
const LONGEST_WAIT_MS = 300_000;

/** Milliseconds of `timeout=`: a Go duration, or whole seconds. Throws 400 for anything else. */
export function readTimeoutParameter(text: string | null): number {
  if (text === null) return DEFAULT_WAIT_MS;
  const milliseconds = /^\d+$/.test(text) ? Number(text) * 1000 : parseGoDuration(text);
  if (milliseconds === undefined || milliseconds < 0) {
    throw badRequest(`timeout: ${JSON.stringify(text)} is not a duration; write 30s or 2m`);
  }
  return Math.min(milliseconds, LONGEST_WAIT_MS);
}
