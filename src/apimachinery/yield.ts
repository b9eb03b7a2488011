/** Long computations that yield to the event loop every millisecond, so that requests are served. */
import { setImmediate as afterThisTick } from 'node:timers';
import { setImmediate } from 'node:timers/promises';

/** About the longest delay of a request by one computation. */
const MAX_HOLD_MS = 1;
/** Guaranteed to each computation per tick, even if others used up the tick: each makes progress. */
const MIN_HOLD_MS = 0.5;

/**
 * Start of the first computation in this tick of the event loop. Several computations in one tick
 * share the limit, so that together they delay requests little more than one alone.
 */
let tickBegan: number | undefined;

function heldSince(): number {
  if (tickBegan === undefined) {
    tickBegan = performance.now();
    afterThisTick(endTick);
  }
  return tickBegan;
}

function endTick(): void {
  tickBegan = undefined;
}

export class Yielding {
  readonly #maxHoldMs: number;
  /** End of the last pause. */
  #resumed = performance.now();

  constructor(maxHoldMs = MAX_HOLD_MS) {
    this.#maxHoldMs = maxHoldMs;
    heldSince();
  }

  /** True if the event loop must be yielded to. */
  get due(): boolean {
    const now = performance.now();
    return now - heldSince() > this.#maxHoldMs && now - this.#resumed > MIN_HOLD_MS;
  }

  async pause(): Promise<void> {
    await setImmediate();
    this.#resumed = performance.now();
  }

  /** Pauses if a pause is due. */
  async take(): Promise<void> {
    if (this.due) await this.pause();
  }
}

/** `items.flatMap(map)` that yields to the event loop. */
export async function flatMapYielding<T, R>(
  items: Iterable<T>,
  map: (item: T) => readonly R[],
): Promise<R[]> {
  const results: R[] = [];
  const pauses = new Yielding();
  for (const item of items) {
    if (pauses.due) await pauses.pause();
    results.push(...map(item));
  }
  return results;
}

/** Runs a generator to its end and yields to the event loop between its steps. */
export async function runYielding<R>(steps: Generator<unknown, R>): Promise<R> {
  const pauses = new Yielding();
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    if (pauses.due) await pauses.pause();
  }
}

/** Runs a generator to its end without yielding to the event loop. */
export function runAtOnce<R>(steps: Generator<unknown, R>): R {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
