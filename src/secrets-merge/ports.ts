/** What a sync of one object needs from git, from the store and from the disk. */
import type { Marker } from './decide.ts';
import type { SecretValues } from './fingerprints.ts';
import type { KeyHistory } from './guards.ts';
import type { StoreVersion, SyncState } from './sync-state.ts';

export interface GitRead {
  readonly commit: string;
  readonly values: SecretValues;
}

export interface GitChange {
  /** What was read; the commit is made on exactly that or not at all. */
  readonly seen: GitRead;
  readonly set: SecretValues;
  readonly remove: readonly string[];
  /** Where the values come from, for the message. */
  readonly from: StoreVersion;
}

export interface GitSide {
  /** Undefined: the object is gone. Rejects when the values cannot be read. */
  read(): Promise<GitRead | undefined>;
  /** The commit that was made; undefined: somebody else changed the object meanwhile. */
  change(change: GitChange): Promise<string | undefined>;
  /** Whether the object was removed, as it was read. */
  remove(seen: GitRead): Promise<boolean>;
  /** All that the object held since a commit, that one left out; undefined: not known at present. */
  history(since: string): Promise<readonly SecretValues[] | undefined>;
}

export interface LiveRead {
  readonly state: 'live';
  readonly at: StoreVersion;
  /** Of keys that a secret can have. */
  readonly values: SecretValues;
  /** Keys whose value is no string; `values` has their exact JSON text. */
  readonly typed: ReadonlySet<string>;
  readonly marker?: Marker;
  readonly managedBy?: string;
  /** Keys of the store that no secret of ours can have. They stay where they are. */
  readonly otherKeys: readonly string[];
}

export type StoreRead =
  | { readonly state: 'absent' }
  | { readonly state: 'deleted'; readonly at: StoreVersion }
  | LiveRead;

export interface StoreChange {
  readonly seen: StoreRead;
  readonly set: SecretValues;
  readonly remove: readonly string[];
}

export type WriteOutcome =
  | { readonly is: 'written'; readonly at: StoreVersion }
  /** Somebody else wrote first. */
  | { readonly is: 'outrun' }
  /** The store cannot hold it; `detail` is a sentence without values. */
  | {
      readonly is: 'refused';
      readonly reason: 'TooLarge' | 'UnsupportedValue';
      readonly detail: string;
    };

/** One path of a mount. Rejects with `StoreError` when there is no answer to rely on. */
export interface StoreSide {
  /** Whether there are versions and check-and-set: KV v2. */
  readonly isVersioned: boolean;
  /** Tells this mount from one that was made anew in its place. */
  readonly mount?: string;
  read(version?: number): Promise<StoreRead>;
  /** Undefined: nothing is known of the key. */
  keyHistory(): Promise<KeyHistory | undefined>;
  /** Writes only over what was seen: that very version, or, without versions, the same values. */
  write(change: StoreChange): Promise<WriteOutcome>;
  /**
   * `createdTime`: of the version that is meant. Numbers come back with a key that is made anew, and a
   * deletion has no condition: one that hit a later version of that number is taken back.
   */
  deleteVersion(version: number, createdTime?: string): Promise<void>;
  mark(marker: Marker): Promise<void>;
  /** True if the node that answers is a standby, whose reads may lag behind the active node. */
  isStandby?(): Promise<boolean>;
}

/** Durable once the promise resolves. */
export interface SyncMemory {
  load(): Promise<SyncState>;
  save(state: SyncState): Promise<void>;
}

/** The store did not do what it was asked for. The message names the store and the path only. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly reason: string;
  /** Whether a write may have happened all the same: the answer was lost. */
  readonly mayHaveHappened: boolean;

  constructor(message: string, { reason, mayHaveHappened = false, cause }: StoreErrorOptions) {
    super(message, { cause });
    this.reason = reason;
    this.mayHaveHappened = mayHaveHappened;
  }
}

export interface StoreErrorOptions {
  /** A word for conditions and metrics, such as `Sealed`. */
  readonly reason: string;
  readonly mayHaveHappened?: boolean;
  readonly cause?: unknown;
}
