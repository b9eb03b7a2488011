/** Garbage of the main thread: that of the start is collected once, and later that of busy times. */
import { setTimeout } from 'node:timers/promises';
import { collectGarbage, collectGarbageAtRest } from '../../concurrency/index.ts';

/** Keeps the pause, of at most some hundred milliseconds, away from the first requests. */
const AFTER_MS = 500;
/** A smaller gain is not worth the pause. */
const REST_BYTES = 32 * 1024 * 1024;
/** A request that comes meanwhile waits as long. Larger heaps are collected in steps. */
const REST_PAUSE_MS = 100;

/** Collects garbage shortly after `settled`, and whenever the process rests. Returns a function that ends it. */
export function collectGarbageAfter(settled: Promise<void>): () => void {
  const off = new AbortController();
  let endRest = (): void => undefined;
  void begin();
  return () => {
    off.abort();
    endRest();
  };

  async function begin(): Promise<void> {
    try {
      await settled;
      await setTimeout(AFTER_MS, undefined, { signal: off.signal, ref: false });
      await collectGarbage();
    } catch {
      // Ended, or Node was built without an inspector: V8 collects later.
    }
    if (!off.signal.aborted)
      endRest = collectGarbageAtRest({
        bytes: REST_BYTES,
        pauseMs: REST_PAUSE_MS,
        shrinks: true,
      });
  }
}
