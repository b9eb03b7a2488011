/**
 * The decision of one round: git, the store and the last agreement become one step. Without values,
 * clock or I/O; the caller executes the step and asks again.
 */

import { type FingerprintMap, NO_PRINTS, sameFingerprints } from './fingerprints.ts';
import { agreedFingerprints, type History, type Merge, mergeKeys } from './merge.ts';
import { mayPull, mayPush, type SyncPolicy } from './policy.ts';
import type { HeldPair, StoreVersion, SyncState } from './sync-state.ts';

/** Consecutive missing reads before a key counts as removed. */
const MISSING_READS_BEFORE_ACTING = 2;

export type GitView =
  | { readonly state: 'absent' }
  | { readonly state: 'live'; readonly commit: string; readonly prints: FingerprintMap };

/** Marker that the sync stores beside the values when both sides agree. */
export interface Marker {
  readonly owner: string;
  readonly whole: string;
  readonly version: number;
}

export type StoreView =
  | { readonly state: 'absent' }
  | { readonly state: 'deleted'; readonly at: StoreVersion }
  | {
      readonly state: 'live';
      readonly at: StoreVersion;
      /** Keys that can be synced. */
      readonly prints: FingerprintMap;
      /** Keys whose value is not a string: readable, but not writable. */
      readonly typed: ReadonlySet<string>;
      readonly marker?: Marker;
      /** Set when another tool owns the key. */
      readonly managedBy?: string;
    };

export interface Situation {
  readonly git: GitView;
  readonly store: StoreView;
  readonly state: SyncState;
  readonly policy: SyncPolicy;
  /** Id of this daemon in markers. */
  readonly owner: string;
  readonly whole: (prints: FingerprintMap) => string;
  /** True if the store keeps overwritten versions: KV v2 with more than one version. */
  readonly keepsHistory: boolean;
  /** Present after it was requested. */
  readonly history?: History;
  /** The mount is not that of the base, so the base was left out of the state. */
  readonly isOtherMount?: boolean;
  readonly resolution?: Resolution;
  /** Present if the store shows an older copy than the known one. */
  readonly older?: OlderStore;
}

export interface OlderStore {
  /** `StoreLags`: a standby answered, and the active node may have the newer version. */
  readonly reason: 'StoreOlder' | 'StoreLags';
  /** The newest known version. */
  readonly known: number;
}

/** `resolve=git@<commit>` or `resolve=store@<version>`. */
export interface Resolution {
  readonly winner: 'git' | 'store';
  readonly id: string;
}

/** Reason why the two sides differ after the round; reason of the condition `Synced`. */
export type Difference =
  | 'GitChanged'
  | 'StoreChanged'
  | 'NotInStore'
  | 'DeletedInStore'
  | 'EmptiedInStore'
  | 'EmptiedInGit';

export type ManualReason =
  | 'Conflict'
  | 'AdoptionConflict'
  | 'CoveredValue'
  | 'ForeignOwner'
  | 'UnsupportedValue'
  | 'NoHistory'
  | 'MountReplaced'
  | 'HistoryUnknown'
  | OlderStore['reason'];

export type Step =
  /** Nothing to write. `agreed`: the new base, if it changes. */
  | {
      readonly do: 'rest';
      readonly agreed?: FingerprintMap;
      readonly difference?: Difference;
      readonly keys: readonly string[];
    }
  | { readonly do: 'pull'; readonly keys: readonly string[]; readonly push: readonly string[] }
  | { readonly do: 'push'; readonly keys: readonly string[]; readonly cas: number }
  /** Both sides changed the same keys: decide again with the history since the base. */
  | { readonly do: 'look' }
  | { readonly do: 'hold'; readonly reason: ManualReason; readonly keys: readonly string[] }
  | { readonly do: 'delete-in-store'; readonly version: number }
  | { readonly do: 'delete-in-git' }
  /** The object is gone from git: the store keeps its data, and tracking ends. */
  | { readonly do: 'forget' }
  /** A value is missing: read again before acting on it. */
  | { readonly do: 'confirm' }
  /** The git history that shows the newer side is unavailable: retry later. */
  | { readonly do: 'wait' };

export function decide(situation: Situation): Step {
  const { git, store, state } = situation;
  if (git.state === 'absent') return withoutGit(situation);
  if (situation.older !== undefined) return olderStore(situation, git.prints, situation.older);
  if (state.covered.length > 0) return { do: 'hold', reason: 'CoveredValue', keys: [] };
  if (situation.isOtherMount === true && store.state !== 'live') {
    return { do: 'hold', reason: 'MountReplaced', keys: [] };
  }
  const seen = store.state === 'live' ? visible(situation, git.prints, store.prints) : NO_PRINTS;
  if (sameFingerprints(git.prints, seen) && store.state === 'live') {
    return { do: 'rest', agreed: seen, keys: [] };
  }
  if (state.base === undefined) return withoutBase(situation, git.prints, seen);
  if (store.state !== 'live') return withoutStore(situation, git.prints);
  return emptied(situation, git.prints, seen) ?? merged(situation, git.prints, seen);
}

/**
 * An older copy of the store is never merged: its values look like changes but are not. A user
 * decides, or the policy if the store was restored; all differences count as changes of the winning
 * side. A push to a standby that lags fails its check-and-set, so git may win there too.
 */
function olderStore(situation: Situation, git: FingerprintMap, { reason }: OlderStore): Step {
  const { store, policy } = situation;
  const seen = store.state === 'live' ? visible(situation, git, store.prints) : NO_PRINTS;
  const winner = winnerOf(situation, git, seen) ?? preferredOver(reason, policy);
  const open: Step = { do: 'hold', reason, keys: differingKeys(git, seen) };
  if (winner === undefined) return open;
  const step = withWinner(situation, { winner, git, seen });
  // For a standby, only check-and-set proves the state of the active node.
  if (reason === 'StoreLags' && step.do !== 'push') return open;
  const isRetained =
    winner === 'store'
      ? seen.size === 0 && policy.deletionInStore === 'Retain'
      : git.size === 0 && policy.deletionInGit === 'Retain';
  if (store.state !== 'live' || !isRetained || sameFingerprints(git, seen)) return step;
  const difference = winner === 'store' ? 'EmptiedInStore' : 'EmptiedInGit';
  return { do: 'rest', difference, keys: differingKeys(git, seen) };
}

/** A standby catches up: no policy decides on lagging values. */
function preferredOver(
  reason: OlderStore['reason'],
  { storeOlder = 'Hold' }: SyncPolicy,
): Resolution['winner'] | undefined {
  if (reason === 'StoreLags' || storeOlder === 'Hold') return undefined;
  return storeOlder === 'PreferGit' ? 'git' : 'store';
}

function withWinner(
  situation: Situation,
  {
    winner,
    git,
    seen,
  }: { winner: Resolution['winner']; git: FingerprintMap; seen: FingerprintMap },
): Step {
  const { store, policy } = situation;
  if (store.state === 'live') {
    if (sameFingerprints(git, seen)) return { do: 'rest', agreed: seen, keys: [] };
    const base = winner === 'git' ? seen : git;
    const sides = { git, store: seen };
    return stepOf(situation, mergeKeys({ base, ...sides }, policy), sides);
  }
  const keys = [...git.keys()].sort();
  if (winner === 'git' && mayPush(policy)) return push(situation, keys);
  const isAsked = winner === 'store' && policy.deletionInStore === 'Delete' && mayPull(policy);
  return isAsked ? { do: 'delete-in-git' } : { do: 'rest', difference: 'DeletedInStore', keys };
}

export function differingKeys(a: FingerprintMap, b: FingerprintMap): string[] {
  return [...new Set([...a.keys(), ...b.keys()])].filter((key) => a.get(key) !== b.get(key)).sort();
}

/** The keys of the store that belong to this object. */
export function visible(
  situation: Situation,
  git: FingerprintMap,
  store: FingerprintMap,
): FingerprintMap {
  if (situation.policy.foreignKeys === 'Sync') return store;
  const base = situation.state.base?.prints ?? NO_PRINTS;
  return new Map([...store].filter(([key]) => git.has(key) || base.has(key)));
}

function withoutGit({ store, state, policy, owner, whole }: Situation): Step {
  const { base } = state;
  const isOurs =
    base !== undefined &&
    store.state === 'live' &&
    store.at.version === base.at.version &&
    store.at.createdTime === base.at.createdTime &&
    sameFingerprints(store.prints, base.prints) &&
    store.marker?.owner === owner &&
    store.marker.whole === whole(base.prints);
  return isOurs && mayPush(policy) && policy.deletionInGit === 'SoftDelete' && base.at.version > 0
    ? { do: 'delete-in-store', version: base.at.version }
    : { do: 'forget' };
}

function withoutBase(situation: Situation, git: FingerprintMap, store: FingerprintMap): Step {
  const { policy } = situation;
  if (situation.store.state !== 'live' || store.size === 0) {
    if (git.size === 0) return { do: 'rest', keys: [] };
    return mayPush(policy)
      ? push(situation, [...git.keys()].sort())
      : { do: 'rest', difference: 'NotInStore', keys: [...git.keys()].sort() };
  }
  const { marker } = situation.store;
  const settled = settle(situation, git, store);
  const isMine = marker !== undefined && marker.owner === situation.owner;
  // The marker holds the last agreement of a lost state; the other side has changed since. A key
  // that git lacks may be new in the store, not removed in git: the object may have been created
  // again.
  if (
    isMine &&
    marker.version === situation.store.at.version &&
    marker.whole === situation.whole(store)
  ) {
    const base = new Map([...store].filter(([key]) => git.has(key)));
    return stepOf(situation, mergeKeys({ base, git, store }, settled ?? policy), { git, store });
  }
  if (isMine && marker.whole === situation.whole(git)) {
    return stepOf(situation, mergeKeys({ base: git, git, store }, policy), { git, store });
  }
  if (git.size > 0 && policy.adopt === 'Hold' && settled === undefined) {
    const {
      conflicts,
      pull,
      push: pushed,
      drift,
    } = mergeKeys({ base: NO_PRINTS, git, store }, policy);
    const keys = [...conflicts, ...pull, ...pushed, ...drift].sort();
    return { do: 'hold', reason: 'AdoptionConflict', keys };
  }
  const adopting = settled ?? { ...policy, conflict: policy.adopt };
  const merge = mergeKeys({ base: NO_PRINTS, git, store }, adopting);
  return stepOf(situation, merge, { git, store, conflict: 'AdoptionConflict' });
}

/** The store lost its data: by a tombstone, or with all metadata of the key. */
function withoutStore(situation: Situation, git: FingerprintMap): Step {
  const { state, policy } = situation;
  if (state.missingReads < MISSING_READS_BEFORE_ACTING) return { do: 'confirm' };
  if (git.size === 0) return { do: 'rest', keys: [] };
  const isChanged = !sameFingerprints(git, state.base?.prints ?? NO_PRINTS);
  // A later write wins over the removal of the earlier value.
  if (isChanged && mayPush(policy)) return push(situation, [...git.keys()].sort());
  return !isChanged && policy.deletionInStore === 'Delete' && mayPull(policy)
    ? { do: 'delete-in-git' }
    : { do: 'rest', difference: 'DeletedInStore', keys: [...git.keys()].sort() };
}

/** A side that is now empty counts as deleted. */
function emptied(
  situation: Situation,
  git: FingerprintMap,
  store: FingerprintMap,
): Step | undefined {
  const { state, policy } = situation;
  const base = state.base?.prints ?? NO_PRINTS;
  if (base.size === 0) return undefined;
  if (store.size === 0 && policy.deletionInStore === 'Retain') {
    return !sameFingerprints(git, base) && mayPush(policy)
      ? push(situation, [...git.keys()].sort())
      : { do: 'rest', difference: 'EmptiedInStore', keys: [...git.keys()].sort() };
  }
  if (git.size === 0 && policy.deletionInGit === 'Retain') {
    return !sameFingerprints(store, base) && mayPull(policy)
      ? { do: 'pull', keys: [...store.keys()].sort(), push: [] }
      : { do: 'rest', difference: 'EmptiedInGit', keys: [...store.keys()].sort() };
  }
  return undefined;
}

function merged(situation: Situation, git: FingerprintMap, store: FingerprintMap): Step {
  const { state, policy, history } = situation;
  const input = { base: state.base?.prints ?? NO_PRINTS, git, store };
  const settled = settle(situation, git, store);
  const plain = mergeKeys(input, { ...policy, conflict: 'Hold' }, history);
  if (plain.conflicts.length > 0 && history === undefined && settled === undefined) {
    return { do: 'look' };
  }
  const merge = mergeKeys(input, settled ?? policy, history);
  return stepOf(situation, merge, { git, store });
}

/** The manual resolution, if it applies to exactly the values that were shown. */
function settle(
  situation: Situation,
  git: FingerprintMap,
  store: FingerprintMap,
): SyncPolicy | undefined {
  if (situation.store.state !== 'live') return undefined;
  const winner = winnerOf(situation, git, store);
  return (
    winner && { ...situation.policy, conflict: winner === 'git' ? 'PreferGit' : 'PreferStore' }
  );
}

function winnerOf(
  { resolution, state, whole, store: view }: Situation,
  git: FingerprintMap,
  store: FingerprintMap,
): Resolution['winner'] | undefined {
  if (resolution === undefined || state.held === undefined) return undefined;
  const version = view.state === 'absent' ? 0 : view.at.version;
  const pair: ShownValues = { git: whole(git), version, store: whole(store) };
  return isAbout(resolution, state.held, pair) ? resolution.winner : undefined;
}

type ShownValues = Pick<HeldPair, 'git' | 'version' | 'store'>;

function isAbout({ winner, id }: Resolution, held: HeldPair, now: ShownValues): boolean {
  const isSame = held.git === now.git && held.store === now.store && held.version === now.version;
  return isSame && id === (winner === 'git' ? held.commit : String(held.version));
}

/** Two existing sides; the store only with the keys of this object. */
interface Sides {
  readonly git: FingerprintMap;
  readonly store: FingerprintMap;
}

function stepOf(
  situation: Situation,
  merge: Merge,
  {
    conflict = 'Conflict',
    ...sides
  }: Sides & { readonly conflict?: 'Conflict' | 'AdoptionConflict' },
): Step {
  if (merge.conflicts.length > 0) return { do: 'hold', reason: conflict, keys: merge.conflicts };
  const refusal = merge.push.length > 0 ? refusedPush(situation, merge.push) : undefined;
  if (refusal !== undefined) return refusal;
  if (merge.pull.length > 0) return { do: 'pull', keys: merge.pull, push: merge.push };
  if (merge.push.length > 0) return push(situation, merge.push);
  return rest(situation, merge.drift, sides);
}

function rest(situation: Situation, drift: readonly string[], sides: Sides): Step {
  const { state, policy } = situation;
  const difference = mayPush(policy) ? 'StoreChanged' : 'GitChanged';
  const input = { base: state.base?.prints ?? NO_PRINTS, ...sides };
  const agreed = agreedFingerprints(
    input,
    mayPush(policy) ? { asInGit: drift } : { asInStore: drift },
  );
  return { do: 'rest', agreed, difference, keys: drift };
}

function push(situation: Situation, keys: readonly string[]): Step {
  const { store } = situation;
  const refusal = refusedPush(situation, keys);
  return refusal ?? { do: 'push', keys, cas: store.state === 'absent' ? 0 : store.at.version };
}

function refusedPush(situation: Situation, keys: readonly string[]): Step | undefined {
  const { store, state, keepsHistory } = situation;
  if (store.state !== 'live') return undefined;
  if (store.managedBy !== undefined && state.base === undefined) {
    return { do: 'hold', reason: 'ForeignOwner', keys };
  }
  const typed = keys.filter((key) => store.typed.has(key));
  if (typed.length > 0) return { do: 'hold', reason: 'UnsupportedValue', keys: typed };
  const base = state.base?.prints ?? NO_PRINTS;
  // Git has the agreed values. Other values must stay readable in the store.
  const unseen = keys.filter(
    (key) => store.prints.has(key) && store.prints.get(key) !== base.get(key),
  );
  return unseen.length > 0 && !keepsHistory
    ? { do: 'hold', reason: 'NoHistory', keys: unseen }
    : undefined;
}
