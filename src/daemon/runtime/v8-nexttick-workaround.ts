/**
 * Keeps `process.nextTick` quick. What it queues are literals with computed keys, and V8 knows where
 * in those to put which key by a hidden class that it holds weakly. A collection of garbage while
 * nothing is queued takes that class away, and V8 never learns it again (the feedback of such a key
 * is of one class or of none): from then on each tick costs five times as much or more, and a request
 * takes eight. Any object of the class keeps it alive.
 */
import { executionAsyncResource } from 'node:async_hooks';

const held: object[] = [];

/** To be called before much garbage is made: a collection that comes first has done the harm. */
export function pinNextTickShape(): void {
  // What was queued is the resource of its own execution.
  if (held.length === 0) process.nextTick(() => held.push(executionAsyncResource()));
}
