/**
 * Collects the garbage of the start once. V8 keeps it, with as much spare heap again, until memory gets
 * scarce, which does not happen on a large machine.
 */
import { setTimeout } from 'node:timers/promises';

/** Keeps the pause, of at most some hundred milliseconds, away from the first requests. */
const AFTER_MS = 500;

/** Collects garbage shortly after `settled`. Returns a function that cancels it. */
export function collectGarbageAfter(settled: Promise<void>): () => void {
  const off = new AbortController();
  settled
    .then(() => setTimeout(AFTER_MS, undefined, { signal: off.signal, ref: false }))
    .then(collectGarbage)
    // Cancelled, or Node was built without an inspector: V8 collects later.
    .catch(() => undefined);
  return () => off.abort();
}

/** The only way that needs no V8 flag. */
async function collectGarbage(): Promise<void> {
  const { Session } = await import('node:inspector/promises');
  const session = new Session();
  session.connect();
  try {
    await session.post('HeapProfiler.collectGarbage');
  } finally {
    session.disconnect();
  }
}
