/** Public names of `files/`: other folders import this file alone. */
export { bootId, isAbandoned, isGone, startOf, thisOwner } from './owner.ts';
export { removeTemporariesIn, removeTemporariesOf, temporaryPath } from './temporary-files.ts';
export { fingerprint, type WatchTimes, watchFiles } from './watch-files.ts';
