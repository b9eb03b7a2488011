/**
 * Reads both sides into a `Situation`. A read older than the known version is not trusted, since it
 * may come from a node that lags behind.
 */
import type { OlderStore, Situation, StoreView } from './decide.ts';
import type { FingerprintMap } from './fingerprints.ts';
import type { KeyHistory } from './guards.ts';
import { isStillNewer, looksStale } from './guards.ts';
import type { GitRead, StoreRead } from './ports.ts';
import type { SyncRecord } from './sync-record.ts';
import type { SyncState } from './sync-state.ts';
import { newestKnown, type StoreVersion, type SyncBase } from './sync-state.ts';

/** Consecutive reads older than the base before the sync investigates. */
const STALE_READS_BEFORE_CHECK = 3;

/** Both sides with their values, which `situation` does not contain. */
export interface Observation {
  readonly git: GitRead | undefined;
  readonly gitPrints: FingerprintMap;
  readonly store: StoreRead;
  readonly view: StoreView;
  readonly situation: Situation;
}

/** Undefined: the read is not trusted. */
export async function observe(record: SyncRecord): Promise<Observation | undefined> {
  const { git: gitSide, store: storeSide, fingerprints, policy, owner, resolution } = record.task;
  const git = await gitSide.read();
  const store = await storeSide.read();
  record.dropSeenOfOtherMount();
  const { base, ...withoutBase } = record.state;
  const isOtherMount =
    base?.mount !== undefined && storeSide.mount !== undefined && base.mount !== storeSide.mount;
  // Versions of another mount are not comparable.
  const isComparable = store.state !== 'absent' && !isOtherMount;
  const belief = isComparable ? await trustOf(record, store.at) : 'believed';
  if (belief === 'unsure') return undefined;
  const gitPrints = fingerprints.of(git?.values ?? new Map());
  const view = viewOf(store, record);
  await countMissing(record, store, isOtherMount ? undefined : base);
  const situation: Situation = {
    git: git ? { state: 'live', commit: git.commit, prints: gitPrints } : { state: 'absent' },
    store: view,
    state: isOtherMount ? withoutBase : record.state,
    isOtherMount,
    policy,
    owner,
    whole: (prints) => fingerprints.whole(prints),
    keepsHistory: storeSide.isVersioned,
    ...(resolution && { resolution }),
    ...(typeof belief === 'object' && { older: belief }),
  };
  return { git, gitPrints, store, view, situation };
}

function viewOf(store: StoreRead, { task: { fingerprints } }: SyncRecord): StoreView {
  if (store.state !== 'live') return store;
  const { values, ...rest } = store;
  return { ...rest, prints: fingerprints.of(values) };
}

/**
 * `unsure`: the node may lag behind. A read that stays old for longer is from an older copy of the
 * store, unless a standby answers.
 */
async function trustOf(
  record: SyncRecord,
  at: StoreVersion,
): Promise<'believed' | 'unsure' | OlderStore> {
  const { state, task } = record;
  const known = newestKnown(state);
  if (known === undefined || isSameVersion(known, at)) return await trusted(record);
  if (!task.store.isVersioned) return await trusted(record);
  const isStale = looksStale(state, at);
  if (isStale) {
    await countStale(record);
    if (record.state.staleReads < STALE_READS_BEFORE_CHECK) return 'unsure';
  }
  const key = await record.keyHistory();
  if (key !== undefined && isFork(state, at, key)) {
    // A node that lags behind shows no version that the others never had.
    if (!isStale || key.versions.has(known.version)) return older('StoreOlder', known);
  }
  if (!isStale) return await trusted(record);
  if (key === undefined || key.versions.get(at.version) !== at.createdTime) return 'unsure';
  if (isStillNewer(state, at, key)) return 'believed';
  const isThere = key.versions.get(known.version) === known.createdTime;
  if (isThere) return older('StoreLags', known);
  return older((await task.store.isStandby?.()) === true ? 'StoreLags' : 'StoreOlder', known);
}

/**
 * True if a read proves that the store was restored from an older copy and written since: the
 * history of the same key has another version under the known number, or has not reached it.
 */
function isFork(state: SyncState, read: StoreVersion, key: KeyHistory): boolean {
  const known = newestKnown(state);
  if (known === undefined || key.versions.get(read.version) !== read.createdTime) return false;
  const { keyCreatedTime: made } = known;
  const isSameLife =
    made === undefined ? key.createdTime <= known.createdTime : key.createdTime === made;
  if (!isSameLife) return false;
  const there = key.versions.get(known.version);
  return there === undefined ? read.version < known.version : there !== known.createdTime;
}

function isSameVersion(a: StoreVersion, b: StoreVersion): boolean {
  return a.version === b.version && a.createdTime === b.createdTime;
}

function older(reason: OlderStore['reason'], { version }: StoreVersion): OlderStore {
  return { reason, known: version };
}

async function trusted(record: SyncRecord): Promise<'believed'> {
  if (record.state.staleReads > 0) await record.save({ staleReads: 0 });
  return 'believed';
}

/** Only full cycles count: cycles for changes in git follow each other too fast. */
async function countStale(record: SyncRecord): Promise<void> {
  const { staleReads } = record.state;
  if (record.task.isFull === false || staleReads >= STALE_READS_BEFORE_CHECK) return;
  await record.save({ staleReads: staleReads + 1 });
}

async function countMissing(
  record: SyncRecord,
  store: StoreRead,
  base: SyncBase | undefined,
): Promise<void> {
  const isMissing = store.state !== 'live' && base !== undefined;
  const missingReads = isMissing ? Math.min(record.state.missingReads + 1, 99) : 0;
  if (missingReads !== record.state.missingReads) await record.save({ missingReads });
}
