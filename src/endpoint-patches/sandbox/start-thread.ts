import type { Worker } from 'node:worker_threads';
import { startWorker } from '../../concurrency/index.ts';
import type { ThreadData } from './messages.ts';

/** JavaScript objects of our own in a thread; those of expressions are in WebAssembly memory. */
const HEAP_MEGABYTES = 256;

/** Starts a sandbox thread. */
export function startThread(workerData: ThreadData): Worker {
  return startWorker(new URL('./thread.ts', import.meta.url), {
    workerData,
    // Nothing of the environment, no arguments: a thread needs neither.
    env: {},
    argv: [],
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MEGABYTES },
  });
}
