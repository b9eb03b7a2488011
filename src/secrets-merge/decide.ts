/**
 * The decision of one round: what git holds, what the store holds and what they agreed on before
 * become one step. No values, no clock and no I/O here; whoever carries the step out asks again.
 */

import { type FingerprintMap, NO_PRINTS, sameFingerprints } from './fingerprints.ts';
import { MISSING_READS_BEFORE_ACTING } from './guards.ts';
import { agreedFingerprints, type History, type Merge, mergeKeys } from './merge.ts';
import { mayPull, mayPush, type SyncPolicy } from './policy.ts';
import type { HeldPair, StoreVersion, SyncState } from './sync-state.ts';

export type GitView =
  | { readonly state: 'absent' }
  | { readonly state: 'live'; readonly commit: string; readonly prints: FingerprintMap };

/** What we wrote beside the values when both sides agreed. */
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
      /** Of the keys that can be synced. */
      readonly prints: FingerprintMap;
      /** Keys whose value is no string: they can be read, and not written. */
      readonly typed: ReadonlySet<string>;
      readonly marker?: Marker;
      /** Another tool says that the key is its own. */
      readonly managedBy?: string;
    };

export interface Situation {
  readonly git: GitView;
  readonly store: StoreView;
  readonly state: SyncState;
  readonly policy: SyncPolicy;
  /** Who this daemon is in markers. */
  readonly owner: string;
  readonly whole: (prints: FingerprintMap) => string;
  /** Whether the store keeps what is overwritten: KV v2 with more than one version. */
  readonly keepsHistory: boolean;
  /** Present once it was asked for. */
  readonly history?: History;
  /** The mount is not the one of the base, which therefore was left out of the state. */
  readonly isOtherMount?: boolean;
  readonly resolution?: Resolution;
  /** Present where the store shows an older copy than the one that is known. */
  readonly older?: OlderStore;
}

export interface OlderStore {
  /** `StoreLags`: a standby answered, and the active node may have the newer version. */
  readonly reason: 'StoreOlder' | 'StoreLags';
  /** The newest version that is known. */
  readonly known: number;
}

/** `resolve=git@<commit>` or `resolve=store@<version>`. */
export interface Resolution {
  readonly winner: 'git' | 'store';
  readonly id: string;
}

/** Why the two sides differ after the round. The reason of the condition `Synced`. */
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
  /** Nothing to write. `agreed`: what the base becomes, when there is something to remember. */
  | {
      readonly do: 'rest';
      readonly agreed?: FingerprintMap;
      readonly difference?: Difference;
      readonly keys: readonly string[];
    }
  | { readonly do: 'pull'; readonly keys: readonly string[]; readonly push: readonly string[] }
  | { readonly do: 'push'; readonly keys: readonly string[]; readonly cas: number }
  /** Both sides changed the same keys: ask again with the history since the base. */
  | { readonly do: 'look' }
  | { readonly do: 'hold'; readonly reason: ManualReason; readonly keys: readonly string[] }
  | { readonly do: 'delete-in-store'; readonly version: number }
  | { readonly do: 'delete-in-git' }
  /** The object is gone from git: the store keeps what it has, nothing is tracked any more. */
  | { readonly do: 'forget' }
  /** Something is missing that was there: look again before believing it. */
  | { readonly do: 'confirm' }
  /** The history of git is not known at present, and would tell which side is newer: ask again later. */
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
 * Nothing merges with an older copy of the store: its values look like changes and are none. A person
 * decides, or the policy where the store was restored; all differences count as changes of the side that
 * wins. A push to a store that merely lags fails its check-and-set, so git may win there as well.
 */
function olderStore(situation: Situation, git: FingerprintMap, { reason }: OlderStore): Step {
  const { store, policy } = situation;
  const seen = store.state === 'live' ? visible(situation, git, store.prints) : NO_PRINTS;
  const winner = winnerOf(situation, git, seen) ?? preferredOver(reason, policy);
  const open: Step = { do: 'hold', reason, keys: differingKeys(git, seen) };
  if (winner === undefined) return open;
  const step = withWinner(situation, { winner, git, seen });
  // Of a standby only check-and-set tells what the active node has.
  if (reason === 'StoreLags' && step.do !== 'push') return open;
  const isRetained =
    winner === 'store'
      ? seen.size === 0 && policy.deletionInStore === 'Retain'
      : git.size === 0 && policy.deletionInGit === 'Retain';
  if (store.state !== 'live' || !isRetained || sameFingerprints(git, seen)) return step;
  const difference = winner === 'store' ? 'EmptiedInStore' : 'EmptiedInGit';
  return { do: 'rest', difference, keys: differingKeys(git, seen) };
}

/** A standby catches up: no policy decides on values that lag. */
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
    return flow(situation, mergeKeys({ base, ...sides }, policy), sides);
  }
  const keys = [...git.keys()].sort();
  if (winner === 'git' && mayPush(policy)) return push(situation, keys);
  const isAsked = winner === 'store' && policy.deletionInStore === 'Delete' && mayPull(policy);
  return isAsked ? { do: 'delete-in-git' } : { do: 'rest', difference: 'DeletedInStore', keys };
}

export function differingKeys(a: FingerprintMap, b: FingerprintMap): string[] {
  return [...new Set([...a.keys(), ...b.keys()])].filter((key) => a.get(key) !== b.get(key)).sort();
}

/** Of what the store holds, what this object is about. */
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
  // What was agreed before the state was lost stands in the marker; the other side has moved on.
  // What git lacks may be new there instead of removed: the object may have been made anew.
  if (
    isMine &&
    marker.version === situation.store.at.version &&
    marker.whole === situation.whole(store)
  ) {
    const base = new Map([...store].filter(([key]) => git.has(key)));
    return flow(situation, mergeKeys({ base, git, store }, settled ?? policy), { git, store });
  }
  if (isMine && marker.whole === situation.whole(git)) {
    return flow(situation, mergeKeys({ base: git, git, store }, policy), { git, store });
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
  return flow(situation, merge, { git, store, conflict: 'AdoptionConflict' });
}

/** The store lost what it had: by a tombstone, or with all that it knew of the key. */
function withoutStore(situation: Situation, git: FingerprintMap): Step {
  const { state, policy } = situation;
  if (state.missingReads < MISSING_READS_BEFORE_ACTING) return { do: 'confirm' };
  if (git.size === 0) return { do: 'rest', keys: [] };
  const isChanged = !sameFingerprints(git, state.base?.prints ?? NO_PRINTS);
  // What somebody wrote since outlives the removal of what was there before.
  if (isChanged && mayPush(policy)) return push(situation, [...git.keys()].sort());
  return !isChanged && policy.deletionInStore === 'Delete' && mayPull(policy)
    ? { do: 'delete-in-git' }
    : { do: 'rest', difference: 'DeletedInStore', keys: [...git.keys()].sort() };
}

/** A side that holds nothing where it held something was deleted, in effect. */
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
  return flow(situation, merge, { git, store });
}

/** What a person decided, when it is about exactly the pair that was shown. */
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

/** Two sides that are there, the store as far as this object is about it. */
interface Sides {
  readonly git: FingerprintMap;
  readonly store: FingerprintMap;
}

function flow(
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
  // Git has what was agreed on. Anything else has to stay readable in the store.
  const unseen = keys.filter(
    (key) => store.prints.has(key) && store.prints.get(key) !== base.get(key),
  );
  return unseen.length > 0 && !keepsHistory
    ? { do: 'hold', reason: 'NoHistory', keys: unseen }
    : undefined;
}
