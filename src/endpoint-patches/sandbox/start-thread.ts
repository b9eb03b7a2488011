/** Starts a sandbox thread: the built file, or the source through tsx while developing. */
import { Worker } from 'node:worker_threads';
import type { ThreadData } from './messages.ts';

/** JavaScript objects of our own in a thread; those of expressions are in WebAssembly memory. */
const HEAP_MEGABYTES = 256;

export function startThread(workerData: ThreadData): Worker {
  const options = {
    workerData,
    // Nothing of the environment, no arguments: a thread needs neither.
    env: {},
    argv: [],
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MEGABYTES },
  };
  if (!import.meta.url.endsWith('.ts')) {
    return new Worker(new URL('./thread.js', import.meta.url), options);
  }
  const source = new URL('./thread.ts', import.meta.url).href;
  const program = `import('tsx/esm/api').then(({ register }) => (register(), import('${source}')));`;
  return new Worker(program, { ...options, eval: true });
}
