/** Starts a thread that reads manifests. */
import { type ResourceLimits, Worker } from 'node:worker_threads';
import type { ReaderSetup } from './protocol.ts';

/** The built file, or the source through tsx while developing. */
export function startWorker(workerData: ReaderSetup, resourceLimits: ResourceLimits = {}): Worker {
  const options = { workerData, resourceLimits };
  if (!import.meta.url.endsWith('.ts')) {
    return new Worker(new URL('./worker.js', import.meta.url), options);
  }
  const source = new URL('./worker.ts', import.meta.url).href;
  const program = `import('tsx/esm/api').then(({ register }) => (register(), import('${source}')));`;
  return new Worker(program, { eval: true, ...options });
}
