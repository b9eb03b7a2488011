import { deadline } from '../../apimachinery/index.ts';

/** Time limit of a provider for everything that one sign-in asks of it; a single question has less. */
const PATIENCE_MS = 30_000;

export function within(signal: AbortSignal, ms = PATIENCE_MS): AbortSignal {
  return deadline(ms, signal);
}
