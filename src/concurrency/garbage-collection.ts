/**
 * Collects garbage when the thread rests. V8 keeps garbage, with as much spare heap again, until memory
 * gets scarce, which does not happen on a large machine.
 */
import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Collects until nothing more is found, which takes three times as long as one collection. Rejects where
 * Node was built without an inspector.
 */
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
  /** Longest pause that is taken. It grows with the heap, and is estimated from the one before. */
  readonly pauseMs?: number;
}

const CHECK_MS = 1000;
/** Share of the time that the event loop of a thread at rest is busy, at most. */
const BUSY_SHARE = 0.1;
const CHECKS_AT_REST = 2;
/** Share of the time that collections take, at most. */
const COLLECTING_SHARE = 0.03;
/** Of the first collection: 145 MB took 50 to 60 ms on a quiet machine. */
const MS_PER_BYTE = 0.4 / 1e6;

/** Returns a function that ends it. */
export function collectGarbageAtRest({
  bytes,
  checkMs = CHECK_MS,
  pauseMs = Number.POSITIVE_INFINITY,
}: RestOptions): () => void {
  const collect = collector();
  let floor = memoryInUse();
  let loop = performance.eventLoopUtilization();
  let rested = 0;
  let notBefore = 0;
  let msPerByte = MS_PER_BYTE;
  const timer = setInterval(check, checkMs).unref();
  return () => clearInterval(timer);

  function check(): void {
    const before = loop;
    loop = performance.eventLoopUtilization();
    rested =
      performance.eventLoopUtilization(loop, before).utilization < BUSY_SHARE ? rested + 1 : 0;
    const began = performance.now();
    if (rested < CHECKS_AT_REST || began < notBefore) return;
    const used = memoryInUse();
    floor = Math.min(floor, used);
    if (used - floor < bytes) return;
    const { heapUsed } = process.memoryUsage();
    if (heapUsed * msPerByte > pauseMs) return;
    collect();
    floor = memoryInUse();
    const ended = performance.now();
    notBefore = ended + (ended - began) / COLLECTING_SHARE;
    msPerByte = (ended - began) / process.memoryUsage().heapUsed;
  }
}

/** One full collection. V8 reads the flag when the context is made. */
function collector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  setFlagsFromString('--no-expose-gc');
  return collect;
}

function memoryInUse(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
