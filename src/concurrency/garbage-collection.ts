/**
 * Collects garbage when the thread rests. V8 keeps garbage, with as much spare heap again, until memory
 * gets scarce, which does not happen on a large machine.
 */
import { performance } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
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
  /** V8 collects in small steps and compacts the heap while the process rests. For the main thread. */
  readonly shrinks?: boolean;
}

const CHECK_MS = 1000;
/** Share of the time that the event loop of a thread at rest is busy, at most. */
const BUSY_SHARE = 0.1;
const CHECKS_AT_REST = 2;
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
  shrinks = false,
}: RestOptions): () => void {
  const collect = collector();
  let floor = memoryInUse();
  let loop = performance.eventLoopUtilization();
  let rested = 0;
  let notBefore = 0;
  let msPerByte = MS_PER_BYTE;
  let isShrinking = false;
  const timer = setInterval(check, checkMs).unref();
  return () => {
    clearInterval(timer);
    shrink(false);
  };

  function check(): void {
    const before = loop;
    loop = performance.eventLoopUtilization();
    rested =
      performance.eventLoopUtilization(loop, before).utilization < BUSY_SHARE ? rested + 1 : 0;
    shrink(shrinks && rested >= CHECKS_AT_REST);
    const began = performance.now();
    if (rested < CHECKS_AT_REST || began < notBefore) return;
    msPerByte = Math.max(MS_PER_BYTE, msPerByte * DECAY);
    const used = memoryInUse();
    floor = Math.min(floor, used);
    if (used - floor < bytes || heapUsed() * msPerByte > pauseMs) return;
    collect();
    const ended = performance.now();
    floor = memoryInUse();
    notBefore = ended + (ended - began) / COLLECTING_SHARE;
    msPerByte = (ended - began) / heapUsed();
  }

  /**
   * The memory reducer of V8 looks eight seconds after a full collection, waits for a low rate of allocation,
   * and takes no allocation at all for a high one. It does not wait where memory matters more than speed.
   */
  function shrink(isAtRest: boolean): void {
    if (isAtRest === isShrinking) return;
    isShrinking = isAtRest;
    preferMemory(isAtRest ? 1 : -1);
  }
}

/** Number of those that prefer a small heap to speed now. */
let preferring = 0;

function preferMemory(by: 1 | -1): void {
  preferring += by;
  setFlagsFromString(preferring > 0 ? '--optimize-for-size' : '--no-optimize-for-size');
}

/** Items that a computation may read before the heap grows slowly: most leave little garbage. */
const MANY_ITEMS = 150_000;
/** Longest pause, by the estimate, for the collection with which slow growth begins. */
const FIRST_PAUSE_MS = 100;

/**
 * Lets the heap grow to a third more than what is alive, in place of four times as much, once a
 * computation in the main thread has read many items. V8 collects more often then.
 */
export class SlowHeapGrowth implements Disposable {
  readonly #many: number;
  #items = 0;
  #isSlow = false;

  constructor(many = MANY_ITEMS) {
    this.#many = many;
  }

  add(items: number): void {
    this.#items += items;
    if (this.#isSlow || this.#items < this.#many) return;
    this.#isSlow = true;
    preferMemory(1);
    // V8 computes its limit when it collects: the present one is that of fast growth.
    if (heapUsed() * MS_PER_BYTE < FIRST_PAUSE_MS) collector()();
  }

  [Symbol.dispose](): void {
    if (this.#isSlow) preferMemory(-1);
    this.#isSlow = false;
  }
}

/** One full collection. V8 reads the flag when the context is made. */
function collector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  setFlagsFromString('--no-expose-gc');
  return collect;
}

/** `process.memoryUsage` opens a file, and throws where no more may be opened. */
function heapUsed(): number {
  return getHeapStatistics().used_heap_size;
}

function memoryInUse(): number {
  return heapUsed() + getHeapStatistics().external_memory;
}
