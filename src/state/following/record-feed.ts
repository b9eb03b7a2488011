/** The records of a store that another process writes: a snapshot, and the changes after it. */
import type { EngineEntry } from '../engines/engine.ts';

/** Whole records that one step changed; undefined: removed. */
export interface RecordBatch {
  readonly revision: bigint;
  readonly records: ReadonlyMap<string, Buffer | undefined>;
}

export interface RecordChanges extends AsyncIterable<RecordBatch> {
  close(): void;
}

export interface Newest {
  /** Revision of the newest step: it includes every change acknowledged before the call. */
  readonly written: bigint;
  /** The newest revision of all, at least `written`. */
  readonly clock: bigint;
}

export interface RecordFeed {
  /** Location of the records, for messages. */
  readonly place: string;
  /** Linearizable: never a stale answer of a member. */
  newest(): Promise<Newest>;
  /** The oldest revision from which all events are available. */
  oldest(): Promise<bigint>;
  /** The records at a revision, in bytewise order. Throws ForgottenRevisionError. */
  load(revision: bigint): AsyncIterable<EngineEntry>;
  /**
   * Every step from a revision on, in order. Survives interruptions. Throws ForgottenRevisionError.
   */
  changes(from: bigint): RecordChanges;
}

/** The events after that revision are no longer available. */
export class CompactedFeedError extends Error {
  override readonly name = 'ForgottenRevisionError';
}
