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
  /** Returns free room of the heap to the system after a longer rest. Absent: V8 keeps it. */
  readonly shrink?: ShrinkOptions;
}

export interface ShrinkOptions {
  /** Free room that is worth the pause. */
  readonly bytes: number;
  /** Longest pause, as above. Shrinking takes as long as some collections. */
  readonly pauseMs: number;
}

const CHECK_MS = 1000;
/** Share of the time that the event loop of a thread at rest is busy, at most. */
const BUSY_SHARE = 0.1;
const CHECKS_AT_REST = 2;
const CHECKS_BEFORE_SHRINK = 5;
/** A collection that compacts the heap repeats until nothing more is found. */
const COLLECTIONS_PER_SHRINK = 3;
/** Share of the time that collections take, at most. */
const COLLECTING_SHARE = 0.03;
/** Of the first collection: 145 MB took 50 to 60 ms on a quiet machine. */
const MS_PER_BYTE = 0.4 / 1e6;
/** An estimate from a busy machine halves in 23 checks at rest. */
const DECAY = 0.97;

/** Returns a function that ends it. */
export function collectGarbageAtRest({
  bytes,
  checkMs = CHECK_MS,
  pauseMs = Number.POSITIVE_INFINITY,
  shrink,
}: RestOptions): () => void {
  const collect = collector();
  let floor = memoryInUse();
  let loop = performance.eventLoopUtilization();
  let rested = 0;
  let notBefore = 0;
  let msPerByte = MS_PER_BYTE;
  /** Free room that the last shrinking left. */
  let room = 0;
  let isShrinking = false;
  const timer = setInterval(check, checkMs).unref();
  return () => clearInterval(timer);

  function check(): void {
    const before = loop;
    loop = performance.eventLoopUtilization();
    rested =
      performance.eventLoopUtilization(loop, before).utilization < BUSY_SHARE ? rested + 1 : 0;
    const began = performance.now();
    if (rested < CHECKS_AT_REST || began < notBefore || isShrinking) return;
    msPerByte = Math.max(MS_PER_BYTE, msPerByte * DECAY);
    const used = memoryInUse();
    floor = Math.min(floor, used);
    const estimate = process.memoryUsage().heapUsed * msPerByte;
    if (used - floor >= bytes && estimate <= pauseMs) {
      collect();
      collected(began, 1);
    } else if (shrink !== undefined && rested >= CHECKS_BEFORE_SHRINK) {
      const isWorth = freeRoom() - room >= shrink.bytes;
      if (isWorth && estimate * COLLECTIONS_PER_SHRINK <= shrink.pauseMs) void giveBack(began);
    }
  }

  function collected(began: number, collections: number): void {
    floor = memoryInUse();
    const ended = performance.now();
    notBefore = ended + (ended - began) / COLLECTING_SHARE;
    msPerByte = (ended - began) / collections / process.memoryUsage().heapUsed;
  }

  async function giveBack(began: number): Promise<void> {
    isShrinking = true;
    try {
      await collectGarbage();
      collected(began, COLLECTIONS_PER_SHRINK);
      room = freeRoom();
    } catch {
      // Node was built without an inspector: no later attempt succeeds.
      room = Number.POSITIVE_INFINITY;
    } finally {
      isShrinking = false;
    }
  }
}

/** One full collection. V8 reads the flag when the context is made. */
function collector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  setFlagsFromString('--no-expose-gc');
  return collect;
}

function freeRoom(): number {
  const { heapTotal, heapUsed } = process.memoryUsage();
  return heapTotal - heapUsed;
}

function memoryInUse(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
