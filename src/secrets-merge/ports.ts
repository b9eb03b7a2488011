/** Interfaces of a sync to git, the store and the disk. */
import type { Marker } from './decide.ts';
import type { SecretValues } from './fingerprints.ts';
import type { KeyHistory } from './guards.ts';
import type { StoreVersion, SyncState } from './sync-state.ts';

export interface GitRead {
  readonly commit: string;
  readonly values: SecretValues;
}

export interface GitChange {
  /** The values that were read; the commit is made on exactly these, or not at all. */
  readonly seen: GitRead;
  readonly set: SecretValues;
  readonly remove: readonly string[];
  /** Source of the values, for the commit message. */
  readonly from: StoreVersion;
}

export interface GitSide {
  /** Undefined: the object is gone. Rejects when the values cannot be read. */
  read(): Promise<GitRead | undefined>;
  /** The new commit; undefined: another writer changed the object meanwhile. */
  change(change: GitChange): Promise<string | undefined>;
  /** True if the object was removed in the version that was read. */
  remove(seen: GitRead): Promise<boolean>;
  /** Values since a commit, without that one; undefined: unavailable. */
  history(since: string): Promise<readonly SecretValues[] | undefined>;
}

export interface LiveRead {
  readonly state: 'live';
  readonly at: StoreVersion;
  /** Only keys that a secret can have. */
  readonly values: SecretValues;
  /** Keys whose value is not a string; `values` has their exact JSON text. */
  readonly typed: ReadonlySet<string>;
  readonly marker?: Marker;
  readonly managedBy?: string;
  /** Keys that are invalid in a secret. They are left unchanged. */
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
  /** Another writer was first. */
  | { readonly is: 'outrun' }
  /** The store cannot hold it; `detail` is a message without values. */
  | {
      readonly is: 'refused';
      readonly reason: 'TooLarge' | 'UnsupportedValue';
      readonly detail: string;
    };

/** One path of a mount. Rejects with `StoreError` without a reliable answer. */
export interface StoreSide {
  /** True for versions and check-and-set: KV v2. */
  readonly isVersioned: boolean;
  /** Identity of the mount, which changes when it is created again. */
  readonly mount?: string;
  read(version?: number): Promise<StoreRead>;
  /** Undefined: the key is unknown. */
  keyHistory(): Promise<KeyHistory | undefined>;
  /** Overwrites only the version that was read, or, without versions, the same values. */
  write(change: StoreChange): Promise<WriteOutcome>;
  /**
   * `createdTime`: of the intended version. Numbers restart when a key is created again, and a
   * deletion has no condition: if it hit a later version of that number, it is undone.
   */
  deleteVersion(version: number, createdTime?: string): Promise<void>;
  mark(marker: Marker): Promise<void>;
  /** True if the answering node is a standby, whose reads may lag behind the active node. */
  isStandby?(): Promise<boolean>;
}

/** Durable once the promise resolves. */
export interface SyncMemory {
  load(): Promise<SyncState>;
  save(state: SyncState): Promise<void>;
}

/** A failed store request. The message names only the store and the path. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly reason: string;
  /** True if a write may have succeeded: the answer was lost. */
  readonly mayHaveHappened: boolean;

  constructor(message: string, { reason, mayHaveHappened = false, cause }: StoreErrorOptions) {
    super(message, { cause });
    this.reason = reason;
    this.mayHaveHappened = mayHaveHappened;
  }
}

export interface StoreErrorOptions {
  /** Reason for conditions and metrics, such as `Sealed`. */
  readonly reason: string;
  readonly mayHaveHappened?: boolean;
  readonly cause?: unknown;
}
