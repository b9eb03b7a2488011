/**
 * Long computations that yield to the event loop every millisecond, so that requests are served. Beside
 * requests that keep the event loop busy they have a share of it, so that these do not starve them.
 */
import { setImmediate as afterThisTick } from 'node:timers';
import { setImmediate } from 'node:timers/promises';

/** About the longest delay of a request by one computation, while the event loop has time to spare. */
const MAX_HOLD_MS = 1;
/** Guaranteed to each computation per tick, even if others used up the tick: each makes progress. */
const MIN_HOLD_MS = 0.5;
/** Part of a busy tick that computations have. */
const SHARE = 1 / 4;
/** The same as a limit of time. */
const MAX_SHARE_MS = 8;

/**
 * Start of the first computation in this tick of the event loop. Several computations in one tick
 * share the limit, so that together they delay requests little more than one alone.
 */
let tickBegan: { readonly at: number; readonly active: number } | undefined;
/** Limit of the computations in a tick, by how long the event loop was busy in the one before. */
let shareMs = 0;
/** End of the last tick with a computation. */
let tickEnded = 0;

function heldSince(): number {
  if (tickBegan === undefined) {
    const { active } = performance.eventLoopUtilization();
    tickBegan = { at: performance.now(), active };
    if (tickBegan.at - tickEnded > MAX_SHARE_MS) shareMs = 0;
    afterThisTick(endTick);
  }
  return tickBegan.at;
}

function endTick(): void {
  const { active } = performance.eventLoopUtilization();
  const busy = active - (tickBegan?.active ?? active);
  shareMs = Math.min(busy * SHARE, MAX_SHARE_MS);
  tickBegan = undefined;
  tickEnded = performance.now();
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
    return (
      now - heldSince() > Math.max(this.#maxHoldMs, shareMs) && now - this.#resumed > MIN_HOLD_MS
    );
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
    for (const result of map(item)) results.push(result);
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

/** Length of the parts that are sorted, and merged, without a step between. */
const SORTED_AT_ONCE = 256;

/** `items.toSorted(compare)` in short steps. */
export function* sortInSteps<T>(
  items: readonly T[],
  compare: (a: T, b: T) => number,
): Generator<void, T[]> {
  let runs: T[][] = [];
  for (let at = 0; at < items.length; at += SORTED_AT_ONCE) {
    yield;
    runs.push(items.slice(at, at + SORTED_AT_ONCE).sort(compare));
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let i = 0; i < runs.length; i += 2) {
      merged.push(yield* mergeInSteps(runs[i] ?? [], runs[i + 1] ?? [], compare));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

/** Equal items stay in their order. */
function* mergeInSteps<T>(
  a: readonly T[],
  b: readonly T[],
  compare: (a: T, b: T) => number,
): Generator<void, T[]> {
  const merged: T[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (merged.length % SORTED_AT_ONCE === 0) yield;
    const takesFirst = j >= b.length || (i < a.length && compare(a[i] as T, b[j] as T) <= 0);
    merged.push(takesFirst ? (a[i++] as T) : (b[j++] as T));
  }
  return merged;
}
