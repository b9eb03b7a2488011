/**
 * Work that takes the processor for long, in slices: every millisecond whoever else waits for the
 * event loop, such as readers of the API, gets a turn.
 */
import { setImmediate as afterThisTurn } from 'node:timers';
import { setImmediate } from 'node:timers/promises';

/** A read that comes meanwhile waits about so long. */
const LONGEST_HOLD_MS = 1;
/** So much is done in each turn, whoever else has taken it up already: else the last never get on. */
const LEAST_HOLD_MS = 0.5;

/**
 * When work in slices began in this turn of the event loop: several pieces of it that follow each
 * other in one turn hold it together little longer than one alone.
 */
let turnBegan: number | undefined;

function heldSince(): number {
  if (turnBegan === undefined) {
    turnBegan = performance.now();
    afterThisTurn(endTurn);
  }
  return turnBegan;
}

function endTurn(): void {
  turnBegan = undefined;
}

export class Yielding {
  readonly #longestHoldMs: number;
  /** When we were at it last. */
  #since = performance.now();

  constructor(longestHoldMs = LONGEST_HOLD_MS) {
    this.#longestHoldMs = longestHoldMs;
    heldSince();
  }

  /** Whether it is time to let others have the processor. */
  get due(): boolean {
    const now = performance.now();
    return now - heldSince() > this.#longestHoldMs && now - this.#since > LEAST_HOLD_MS;
  }

  async pause(): Promise<void> {
    await setImmediate();
    this.#since = performance.now();
  }

  /** Pauses where it is due. */
  async take(): Promise<void> {
    if (this.due) await this.pause();
  }
}

/** `items.flatMap(map)`, in slices. */
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

/** Runs what yields between its steps to its end, in slices. */
export async function runYielding<R>(steps: Generator<unknown, R>): Promise<R> {
  const pauses = new Yielding();
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    if (pauses.due) await pauses.pause();
  }
}

/** Runs what yields between its steps to its end, at once. */
export function runAtOnce<R>(steps: Generator<unknown, R>): R {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
