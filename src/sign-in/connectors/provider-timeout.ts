import { deadline } from '../../apimachinery/index.ts';

/** Time limit of a provider for everything that one sign-in asks of it; a single question has less. */
const TIMEOUT_MS = 30_000;

export function withProviderTimeout(signal: AbortSignal, ms = TIMEOUT_MS): AbortSignal {
  return deadline(ms, signal);
}
