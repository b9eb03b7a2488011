/** Door of `controllers/`: other folders import this file alone. */
export { startConditionEvents } from './condition-events.ts';
export { startDeletion } from './deletion.ts';
export { startFetching } from './fetch.ts';
export { GarbageCollector } from './garbage/collector.ts';
export { type KeyExpiry, openKeyExpiry } from './key-expiry.ts';
export { startKeyOwners } from './key-owners.ts';
export { type RepositoryPart, watchObjects } from './object-integrity.ts';
export { followRepository, type RepositoryFollower } from './repository.ts';
