/**
 * A start leaves much behind that nobody needs any more, and V8 keeps it, and room for as much
 * again, until memory gets scarce, which on a large machine it does not. So it is told once.
 */
import { setTimeout } from 'node:timers/promises';

/** Whoever has just begun to ask should not meet the pause: some hundred milliseconds at most. */
const AFTER_MS = 500;

/** Collects garbage a little after `settled`. Returns the way to call it off. */
export function collectGarbageAfter(settled: Promise<void>): () => void {
  const off = new AbortController();
  settled
    .then(() => setTimeout(AFTER_MS, undefined, { signal: off.signal, ref: false }))
    .then(collectGarbage)
    // Called off, or this Node was built without an inspector: V8 does it later.
    .catch(() => undefined);
  return () => off.abort();
}

/** The one way to do so that needs no flag of V8. */
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
