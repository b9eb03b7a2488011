import { deadline } from '../../apimachinery/index.ts';

/** Time limit for all requests of one sign-in to a provider; a single request has less. */
const TIMEOUT_MS = 30_000;

export function withProviderTimeout(signal: AbortSignal, ms = TIMEOUT_MS): AbortSignal {
  return deadline(ms, signal);
}
