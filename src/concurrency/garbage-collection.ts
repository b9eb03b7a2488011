/**
 * Collects garbage when the thread rests. V8 keeps garbage, with as much spare heap again, until memory
 * gets scarce, which does not happen on a large machine.
 */
import { performance } from 'node:perf_hooks';

/** The only way that needs no V8 flag. Rejects where Node was built without an inspector. */
export async function collectGarbage(): Promise<void> {
  const { Session } = await import('node:inspector/promises');
  const session = new Session();
  session.connect();
  try {
    await session.post('HeapProfiler.collectGarbage');
  } finally {
    session.disconnect();
  }
}

export interface RestOptions {
  /** Memory that must have been taken since the last collection, heap and buffers. */
  readonly bytes: number;
  /** Interval of the checks. */
  readonly checkMs?: number;
}

const CHECK_MS = 1000;
/** Share of the time that the event loop of a thread at rest is busy, at most. */
const BUSY_SHARE = 0.1;
const CHECKS_AT_REST = 2;
/** Share of the time that collections take, at most. */
const COLLECTING_SHARE = 0.03;

/** Returns a function that ends it. */
export function collectGarbageAtRest({ bytes, checkMs = CHECK_MS }: RestOptions): () => void {
  let floor = memoryInUse();
  let loop = performance.eventLoopUtilization();
  let rested = 0;
  let notBefore = 0;
  const timer = setInterval(() => void check(), checkMs).unref();
  return () => clearInterval(timer);

  async function check(): Promise<void> {
    const before = loop;
    loop = performance.eventLoopUtilization();
    rested =
      performance.eventLoopUtilization(loop, before).utilization < BUSY_SHARE ? rested + 1 : 0;
    const began = performance.now();
    if (rested < CHECKS_AT_REST || began < notBefore) return;
    const used = memoryInUse();
    floor = Math.min(floor, used);
    if (used - floor < bytes) return;
    // Until the collection has ended.
    notBefore = Number.POSITIVE_INFINITY;
    await collectGarbage().catch(() => undefined);
    floor = memoryInUse();
    const ended = performance.now();
    notBefore = ended + (ended - began) / COLLECTING_SHARE;
  }
}

function memoryInUse(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
