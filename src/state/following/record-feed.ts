/** The records of a store that somebody else writes, at a point of their history, and what follows. */
import type { EngineEntry } from '../engines/engine.ts';

/** All that one step changed, as whole records; a value of undefined: the record went. */
export interface RecordBatch {
  readonly revision: bigint;
  readonly records: ReadonlyMap<string, Buffer | undefined>;
}

export interface RecordChanges extends AsyncIterable<RecordBatch> {
  close(): void;
}

export interface Newest {
  /** Of the newest step: whatever was acknowledged before the call is in it. */
  readonly written: bigint;
  /** The newest of all, at least that. */
  readonly clock: bigint;
}

export interface RecordFeed {
  /** Where the records are, for messages. */
  readonly place: string;
  /** Never answered from what a member remembers. */
  newest(): Promise<Newest>;
  /** The oldest revision from which what happened since can be followed without gap. */
  oldest(): Promise<bigint>;
  /** The records at a revision, in bytewise order. Throws ForgottenRevisionError. */
  load(revision: bigint): AsyncIterable<EngineEntry>;
  /**
   * Every step from a revision on, in order. Goes on by itself over interruptions. Throws
   * ForgottenRevisionError.
   */
  changes(from: bigint): RecordChanges;
}

/** What happened since that revision cannot be had any more. */
export class ForgottenRevisionError extends Error {
  override readonly name = 'ForgottenRevisionError';
}
