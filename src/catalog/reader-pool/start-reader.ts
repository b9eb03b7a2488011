import type { ResourceLimits, Worker } from 'node:worker_threads';
import { startWorker } from '../../concurrency/index.ts';
import type { ReaderSetup } from './protocol.ts';

/** Starts a thread that reads manifests. */
export function startReader(workerData: ReaderSetup, resourceLimits: ResourceLimits = {}): Worker {
  return startWorker(new URL('./worker.ts', import.meta.url), { workerData, resourceLimits });
}
