/** Public names of `concurrency/`: other folders import this file alone. */
export { answerRequests, notify } from './answer-requests.ts';
export { type Backoff, backoffAfter, backoffBound, pause, RetryDelay } from './backoff.ts';
export { shrinkBufferPool } from './buffer-pool.ts';
export { type Deferred, deferred } from './deferred.ts';
export { collectGarbage, collectGarbageAtRest, SlowHeapGrowth } from './garbage-collection.ts';
export { mapLimit } from './map-limit.ts';
export { KeyedMutex, Mutex } from './mutex.ts';
export {
  Counter,
  describeProgress,
  Progress,
  type ProgressState,
  showProgress,
} from './progress.ts';
export { Sequence } from './sequence.ts';
export { SingleFlight } from './single-flight.ts';
export { startWorker } from './start-worker.ts';
export { WorkQueue } from './work-queue.ts';
export { WorkerChannel, WorkerLostError } from './worker-channel.ts';
