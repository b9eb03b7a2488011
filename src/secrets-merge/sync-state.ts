/**
 * What has to outlive the process for each object: the base of the merge, pushes whose end nobody
 * saw, and values that a push covered. Holds fingerprints and numbers, never a value.
 */
import type { FingerprintMap } from './fingerprints.ts';

/** One version of a key of the store. Numbers come back after a hard delete, so both count. */
export interface StoreVersion {
  readonly version: number;
  /** As `canonicalTime` writes it: compares as text. */
  readonly createdTime: string;
}

/** What both sides held when they last agreed, key by key. */
export interface SyncBase {
  readonly prints: FingerprintMap;
  /** The version of the store that was seen then. */
  readonly at: StoreVersion;
  readonly commit: string;
  /** When the key was made, where that is known: tells one life of a key from the next. */
  readonly keyCreatedTime?: string;
  /** The mount, where that is known: one that was made anew is another store. */
  readonly mount?: string;
}

/** A push that began and is not known to have ended. It can only have become version `cas` + 1. */
export interface Intent {
  readonly cas: number;
  /** What was seen at version `cas`. */
  readonly predecessor: Predecessor;
  /** Fingerprint of all that the push leaves behind in the store. */
  readonly target: string;
  /** The base once it landed, but for its version. */
  readonly prints: FingerprintMap;
  readonly commit: string;
  /** Set when the store acknowledged it and what it covered has yet to be looked at. */
  readonly landed?: StoreVersion;
}

export interface Predecessor {
  readonly createdTime: string;
  readonly whole: string;
  /** It was a tombstone. Whoever takes that away changes no version, and so outruns no push. */
  readonly isDeleted: boolean;
}

/** The pair that a person was shown and may decide on. */
export interface HeldPair {
  readonly commit: string;
  readonly git: string;
  /** 0 where the store had no key. */
  readonly version: number;
  readonly store: string;
}

export interface SyncState {
  readonly base?: SyncBase;
  readonly intents: readonly Intent[];
  /** Versions that a push covered before anybody saw them. They stay readable in the store. */
  readonly covered: readonly StoreVersion[];
  readonly held?: HeldPair;
  /** What was held, or was about to be pulled: what is older than that is old, whatever the base. */
  readonly seen?: KnownVersion & Pick<SyncBase, 'mount'>;
  /** Values that a pull brought into git last, or was about to: the store may keep them no longer. */
  readonly pulled?: FingerprintMap;
  /** Reads in a row that were older than the base. */
  readonly staleReads: number;
  /** Reads in a row that found nothing where the base knows something. */
  readonly missingReads: number;
  /** Full cycles in a row that needed the history of git, which was not known; absent: 0. */
  readonly unknownHistories?: number;
}

export const NEW_STATE: SyncState = { intents: [], covered: [], staleReads: 0, missingReads: 0 };

/** One of two versions of the same object that was made later. */
export function isOlder(a: StoreVersion, b: StoreVersion): boolean {
  if (a.createdTime !== b.createdTime) return a.createdTime < b.createdTime;
  return a.version < b.version;
}

/** A version, and the life of its key where that is known. */
export interface KnownVersion extends StoreVersion {
  readonly keyCreatedTime?: string;
}

/** The newest version that this daemon acted on. */
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
