/**
 * Persistent sync state of an object: the base of the merge, pushes with unknown results, and
 * covered versions. Contains fingerprints and numbers, never a value.
 */
import type { FingerprintMap } from './fingerprints.ts';

/**
 * One version of a key in the store. Numbers restart after a hard delete, so both fields identify
 * it.
 */
export interface StoreVersion {
  readonly version: number;
  /** In the format of `canonicalTime`: sorts as text. */
  readonly createdTime: string;
}

/** The last agreement of both sides, key by key. */
export interface SyncBase {
  readonly prints: FingerprintMap;
  /** The store version at that time. */
  readonly at: StoreVersion;
  readonly commit: string;
  /** Creation time of the key, if known: distinguishes keys that were created again. */
  readonly keyCreatedTime?: string;
  /** Identity of the mount, if known: a mount that was created again is another store. */
  readonly mount?: string;
}

/** A push with an unknown result. It can only have become version `cas` + 1. */
export interface Intent {
  readonly cas: number;
  /** The state that was read at version `cas`. */
  readonly predecessor: Predecessor;
  /** Fingerprint of all values after the push. */
  readonly target: string;
  /** The base after success, without its version. */
  readonly prints: FingerprintMap;
  readonly commit: string;
  /** Set when the store acknowledged it, and the overwritten version is not checked yet. */
  readonly landed?: StoreVersion;
}

export interface Predecessor {
  readonly createdTime: string;
  readonly whole: string;
  /**
   * It was a tombstone. Undeleting it changes no version, so check-and-set does not detect that.
   */
  readonly isDeleted: boolean;
}

/** The pair of values that the user saw and may decide on. */
export interface HeldPair {
  readonly commit: string;
  readonly git: string;
  /** 0 if the store had no key. */
  readonly version: number;
  readonly store: string;
}

export interface SyncState {
  readonly base?: SyncBase;
  readonly intents: readonly Intent[];
  /** Versions that a push covered before they were read. They stay readable in the store. */
  readonly covered: readonly StoreVersion[];
  readonly held?: HeldPair;
  /**
   * The newest version that was shown or about to be pulled; older reads are stale, whatever the
   * base is.
   */
  readonly seen?: KnownVersion & Pick<SyncBase, 'mount'>;
  /** Values of the last or an unfinished pull; the store may no longer keep them. */
  readonly pulled?: FingerprintMap;
  /** Consecutive reads that were older than the base. */
  readonly staleReads: number;
  /** Consecutive reads without a value that the base has. */
  readonly missingReads: number;
  /** Consecutive full cycles with unavailable git history; absent: 0. */
  readonly unknownHistories?: number;
}

export const NEW_STATE: SyncState = { intents: [], covered: [], staleReads: 0, missingReads: 0 };

/** True if `a` was created before `b`. */
export function isOlder(a: StoreVersion, b: StoreVersion): boolean {
  if (a.createdTime !== b.createdTime) return a.createdTime < b.createdTime;
  return a.version < b.version;
}

/** A version, and the creation time of its key if known. */
export interface KnownVersion extends StoreVersion {
  readonly keyCreatedTime?: string;
}

/** The newest version on which this daemon acted. */
export function newestKnown({ base, seen, intents }: SyncState): KnownVersion | undefined {
  const known: (KnownVersion | undefined)[] = [
    base && { ...base.at, ...lifeOf(base) },
    seen,
    ...intents.map((intent) => intent.landed),
  ];
  return known.reduce((a, b) => (a === undefined || (b && isOlder(a, b)) ? b : a), undefined);
}

function lifeOf({ keyCreatedTime }: SyncBase): Pick<SyncBase, 'keyCreatedTime'> {
  return keyCreatedTime === undefined ? {} : { keyCreatedTime };
}
