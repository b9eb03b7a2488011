/** Public names of `concurrency/`: other folders import this file alone. */
export { mapLimit } from './map-limit.ts';
export { KeyedMutex, Mutex } from './mutex.ts';
