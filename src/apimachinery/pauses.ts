/**
 * Work that takes the processor for long, in slices: every few milliseconds whoever else waits for
 * the event loop, such as readers of the API, gets a turn.
 */
import { setImmediate } from 'node:timers/promises';

const LONGEST_HOLD_MS = 4;

export class Pauses {
  #since = performance.now();

  /** Whether it is time to let others have the processor. */
  get due(): boolean {
    return performance.now() - this.#since > LONGEST_HOLD_MS;
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
export async function flatMapInSlices<T, R>(
  items: Iterable<T>,
  map: (item: T) => readonly R[],
): Promise<R[]> {
  const results: R[] = [];
  const pauses = new Pauses();
  for (const item of items) {
    if (pauses.due) await pauses.pause();
    results.push(...map(item));
  }
  return results;
}

/** Runs what yields between its steps to its end, in slices. */
export async function runInSlices<R>(steps: Generator<unknown, R>): Promise<R> {
  const pauses = new Pauses();
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
