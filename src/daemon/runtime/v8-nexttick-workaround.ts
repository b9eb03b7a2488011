/**
 * Keeps `process.nextTick` fast. Its queue entries are literals with computed keys, and V8 finds the
 * slots of those keys by a hidden class that it references weakly. A garbage collection while the queue
 * is empty frees that class, and V8 never learns it again (the feedback for such a key is of one class
 * or of none): each tick then costs five times as much or more, and a request eight times. Any live
 * object of the class keeps it alive.
 */
import { executionAsyncResource } from 'node:async_hooks';

const held: object[] = [];

/** Call before much garbage is made: a collection that comes first has done the harm. */
export function pinNextTickShape(): void {
  // The queue entry is the resource of its own execution.
  if (held.length === 0) process.nextTick(() => held.push(executionAsyncResource()));
}
