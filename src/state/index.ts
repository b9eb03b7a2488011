/** Public names of `state/`. */
export type { EngineEntry, EngineWrite, StateEngine } from './engines/engine.ts';
export { type EtcdStateEngine, openEtcdEngine } from './engines/etcd/engine.ts';
export { openEtcdFeed } from './engines/etcd/feed.ts';
export { Layout } from './engines/etcd/layout.ts';
export { openLmdbEngine } from './engines/lmdb-engine.ts';
export { isNewState } from './engines/lmdb-files.ts';
export { copyLmdb, lmdbIsReadable } from './engines/lmdb-probe.ts';
export { MemoryEngine } from './engines/memory-engine.ts';
export { type FollowingStore, openFollowingStore } from './following/following-store.ts';
export type { Writer } from './following/freshness.ts';
export type { RecordFeed } from './following/record-feed.ts';
export { EVENT_PREFIX } from './journal/event-records.ts';
export { compareKeys } from './objects/key-order.ts';
export { ObjectVersion } from './objects/object-version.ts';
export { openStore } from './open-store.ts';
export { type RecordCodec, sealingCodec, strictCodec } from './records/codec.ts';
export { decompress } from './records/compression.ts';
export { META_KEY, MIGRATION_KEY } from './records/saved-state.ts';
export { loadStateKey } from './records/state-key.ts';
export type { RedoOptions } from './redo/redo-log.ts';
export { type ScopedStore, scopedStore } from './scoped-store.ts';
export { StateError } from './state-error.ts';
export {
  type Change,
  type Collection,
  CompactedError,
  type EventType,
  type JournalEvent,
  type MadeObject,
  type ObjectFactory,
  type ObjectList,
  type Provenance,
  type Store,
  type StoredObject,
  type Watch,
} from './store.ts';
